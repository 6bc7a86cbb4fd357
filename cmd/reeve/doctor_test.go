package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail"
)

func TestDoctorTellsReadyPartialAndMissingByPromise(t *testing.T) {
	r := jail.Readiness{State: reeve.SandboxMissing, Engine: "bwrap", Fix: "install it", Checks: []jail.Check{
		{Name: "agent: write outside", Held: true, Detail: "open /x: read-only file system"},
		{Name: "strict: write outside", Held: true, Detail: "open /x: read-only file system"},
		{Name: "agent: read a secret", Held: true, Detail: "permission denied"},
		{Name: "strict: read a secret", Detail: "it succeeded inside"},
		{Name: "agent: trace", Detail: "it succeeded inside"},
	}}
	d := diagnose("bwrap", r)
	want := []promise{
		{"refused: write outside", "ready", "read-only file system"},
		{"refused: read a secret", "partial", "profile strict: it succeeded inside"},
		{"refused: trace", "missing", "profile agent: it succeeded inside"},
	}
	if len(d.Promises) != len(want) {
		t.Fatalf("got %+v, want %+v", d.Promises, want)
	}
	for i := range want {
		if d.Promises[i] != want[i] {
			t.Errorf("promise %d: got %+v, want %+v", i, d.Promises[i], want[i])
		}
	}
	var out bytes.Buffer
	d.write(&out)
	if !strings.HasPrefix(out.String(), "sandbox: missing\n") || !strings.HasSuffix(out.String(), "what to do: install it\n") {
		t.Errorf("printed:\n%s", out.String())
	}
}

func TestDoctorSaysThatTheWallOfMacOSIsUnverified(t *testing.T) {
	d := diagnose("seatbelt", jail.Readiness{State: reeve.SandboxReady, Probed: true, Engine: "/usr/bin/sandbox-exec"})
	var out bytes.Buffer
	d.write(&out)
	if !strings.Contains(out.String(), "never tried on a Mac") || strings.Contains(out.String(), "setsid") {
		t.Errorf("printed:\n%s", out.String())
	}
}

func TestDoctorSaysWhatTheReducedBoundaryDoesNotHold(t *testing.T) {
	d := diagnose("landlock", jail.Readiness{State: reeve.SandboxReduced, Probed: true, Engine: "landlock (reduced; version 7)", Fix: ""})
	var out bytes.Buffer
	d.write(&out)
	for _, want := range []string{"sandbox: reduced\n", "missing  the profile agent", "missing  modes, owners, times and attributes", "missing  memory"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out.String())
		}
	}
	if d := diagnose("landlock", jail.Readiness{State: reeve.SandboxReduced}); d.State != "missing" {
		t.Errorf("before it was tried it is %s", d.State)
	}
}
