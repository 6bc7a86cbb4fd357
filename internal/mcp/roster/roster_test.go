package roster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/pins"
	"github.com/reeve-gate/reeve/internal/mcp/servers"
	"github.com/reeve-gate/reeve/internal/mcp/standing"
	"github.com/reeve-gate/reeve/internal/testuser"
	settings "github.com/reeve-gate/reeve/internal/tool/roster"
	"github.com/reeve-gate/reeve/internal/wire"
)

// kit is a roster in a directory, with what each server offers.
type kit struct {
	*Roster
	offers map[string]*catalog.Offer
}

func newKit(t *testing.T) *kit {
	dir := t.TempDir()
	k := &kit{offers: map[string]*catalog.Offer{}}
	book := servers.NewBook(dir)
	k.Roster = &Roster{File: filepath.Join(dir, servers.File), Mask: func(s string) string { return strings.ReplaceAll(s, "hidden", "***") },
		Now: func() time.Time { return time.Unix(1e9, 0) }, Home: func(server string) string { return filepath.Join(dir, "mcp", server) },
		Judge: &standing.Judge{Pins: pins.NewBook(filepath.Join(dir, "pins")), Servers: book.Servers, Offer: func(s *servers.Server) *catalog.Offer {
			o := k.offers[s.Name]
			if o == nil || o.Hash != s.Hash() {
				return nil
			}
			return o
		}}}
	return k
}

func (k *kit) do(t *testing.T, w wire.Servers) {
	t.Helper()
	if _, err := k.Do(w); err != nil {
		t.Fatalf("%s %s: %v", w.Do, w.Server, err)
	}
}

// offer makes a server offer tools, and lets it be seen.
func (k *kit) offer(t *testing.T, server string, tools ...string) {
	t.Helper()
	s, err := k.server(server)
	if err != nil {
		t.Fatal(err)
	}
	o := &catalog.Offer{Server: server, Hash: s.Hash(), Fetched: time.Unix(1e9, 0)}
	for _, name := range tools {
		o.Lists[catalog.Tools] = append(o.Lists[catalog.Tools], catalog.Item{Name: strings.TrimSuffix(name, "!"), Raw: jsontext.Value(`{"name":"` + strings.TrimSuffix(name, "!") + `","description":"` + name + `","annotations":{"readOnlyHint":true}}`)})
	}
	k.offers[server] = o
	if err := k.Judge.Seen(o, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
}

// told is how the items of a server stand.
func (k *kit) told(t *testing.T, server string) string {
	t.Helper()
	s, err := k.Look(server)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, it := range s.Items {
		word := it.Name + " " + it.Class
		if it.Held != "" {
			word += " held"
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}

// TestTrustIsOfWhatWasShown: what a server offers by the time of the answer is
// what the person saw, or nothing is trusted.
func TestTrustIsOfWhatWasShown(t *testing.T) {
	k := newKit(t)
	k.do(t, wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"x"}`)})
	if _, err := k.Do(wire.Servers{Do: "trust", Server: "a"}); !errors.Is(err, reeve.ErrNotFound) {
		t.Errorf("before it was heard: %v", err)
	}
	k.offer(t, "a", "find", "list")
	shown, err := k.Look("a")
	if err != nil || k.told(t, "a") != "find unknown, list unknown" {
		t.Errorf("%+v, %v", shown, err)
	}
	k.offer(t, "a", "find", "list!")
	if _, err := k.Do(wire.Servers{Do: "trust", Server: "a", Seen: shown.Seen}); err == nil || !strings.Contains(err.Error(), "look again") {
		t.Errorf("it changed meanwhile: %v", err)
	}
	k.offer(t, "a", "find", "list")
	k.do(t, wire.Servers{Do: "trust", Server: "a", Seen: shown.Seen})
	if got := k.told(t, "a"); got != "find read, list read" {
		t.Errorf("trusted: %s", got)
	}
	k.offer(t, "a", "find", "list!", "more")
	if got := k.told(t, "a"); got != "find read, list unknown held, more unknown held" {
		t.Errorf("changed: %s", got)
	}
	shown, _ = k.Look("a")
	k.do(t, wire.Servers{Do: "trust", Server: "a", Seen: shown.Seen, Only: []string{"more"}})
	if got := k.told(t, "a"); got != "find read, list unknown held, more read" {
		t.Errorf("one accepted: %s", got)
	}
	k.do(t, wire.Servers{Do: "say", Server: "a", Tool: "find", Class: "denied"})
	if got := k.told(t, "a"); got != "find denied, list unknown held, more read" {
		t.Errorf("one forbidden: %s", got)
	}
	k.do(t, wire.Servers{Do: "remove", Server: "a"})
	k.do(t, wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"x"}`)})
	k.offer(t, "a", "find")
	if got := k.told(t, "a"); got != "find unknown" {
		t.Errorf("taken out and added again: %s", got)
	}
}

// TestNothingOfASecretIsShown covers G40.
func TestNothingOfASecretIsShown(t *testing.T) {
	k := newKit(t)
	k.do(t, wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"x","args":["hidden"],"env":{"TOKEN":"hidden"}}`)})
	k.do(t, wire.Servers{Do: "add", Server: "b", Entry: jsontext.Value(`{"url":"https://hidden.example","headers":{"Authorization":"hidden"}}`)})
	all, notes, err := k.All()
	b, _ := json.Marshal(all)
	if err != nil || len(all) != 2 || len(notes) != 0 || strings.Contains(string(b), "hidden") || !strings.Contains(string(b), "TOKEN") || !strings.Contains(string(b), "Authorization") {
		t.Errorf("%s, %v", b, err)
	}
	args, err := summary(wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"x","env":{"TOKEN":"hidden"},"x-guard":{}}`)})
	if err != nil || strings.Contains(string(args), "hidden") {
		t.Errorf("the record sees %s, %v", args, err)
	}
}

func TestAChangeThatCannotBeChangesNothing(t *testing.T) {
	testuser.Both(t, changeThatCannotBe)
}

func changeThatCannotBe(t *testing.T) {
	k := newKit(t)
	k.do(t, wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"x"}`)})
	before, _ := os.ReadFile(k.File)
	for _, w := range []wire.Servers{
		{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"y"}`)}, {Do: "add", Server: "A B", Entry: jsontext.Value(`{"command":"y"}`)},
		{Do: "add", Server: "b", Entry: jsontext.Value(`{"comand":"y"}`)}, {Do: "add", Server: "b", Entry: jsontext.Value(`{}`)}, {Do: "add", Server: "b"},
		{Do: "remove", Server: "b"}, {Do: "enable", Server: "b"}, {Do: "trust", Server: "b"}, {Do: "say", Server: "b", Tool: "x", Class: "read"},
		{Do: "say", Server: "a", Tool: "x", Class: "word"}, {Do: "word", Server: "a"}, {},
	} {
		if told, err := k.Do(w); err == nil {
			t.Errorf("%+v is done: %s", w, told)
		}
	}
	if after, _ := os.ReadFile(k.File); string(after) != string(before) {
		t.Errorf("the file became\n%s", after)
	}
	if err := os.Chmod(k.File, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Do(wire.Servers{Do: "disable", Server: "a"}); err == nil {
		t.Error("a file that others may write was changed")
	}
}

// kernel decides as it is told, and runs the hand with no permit.
type kernel struct {
	verdict reeve.Verdict
	tool    *settings.Tool
	saw     reeve.Invocation
}

func (k *kernel) Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result) {
	k.saw = *inv
	return reeve.Decision{Verdict: k.verdict, Reason: "because"}, reeve.Result{Status: reeve.StatusDenied}
}

// TestAChangeIsAnActBehindTheKernel covers Y77: it is a person's, and what the
// kernel denies is not done.
func TestAChangeIsAnActBehindTheKernel(t *testing.T) {
	k := newKit(t)
	kern := &kernel{verdict: reeve.Deny, tool: settings.New()}
	d := &Door{Roster: k.Roster, Kernel: kern, Tool: kern.tool, Session: func() (string, error) { return "s", nil }, NewID: func() string { return "id" }}
	_, err := d.Servers(t.Context(), wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"x"}`)})
	if !errors.Is(err, reeve.ErrDenied) {
		t.Errorf("denied, and %v", err)
	}
	if _, err := os.Stat(k.File); err == nil {
		t.Error("denied, and written")
	}
	if kern.saw.Actor != reeve.ActorUser || kern.saw.Origin != reeve.OriginHost || kern.saw.Tool != settings.Name || kern.saw.Session != "s" {
		t.Errorf("the kernel saw %+v", kern.saw)
	}
}

// TestAServerFindsNothingThatAnotherOfItsNameLeft: what lies in a folder is
// obeyed by what has it as its home, such as settings of npm.
func TestAServerFindsNothingThatAnotherOfItsNameLeft(t *testing.T) {
	k := newKit(t)
	add := wire.Servers{Do: "add", Server: "a", Entry: jsontext.Value(`{"command":"evil"}`)}
	k.do(t, add)
	home := k.Home("a")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry=https://evil.example"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.do(t, wire.Servers{Do: "remove", Server: "a"})
	add.Entry = jsontext.Value(`{"command":"good"}`)
	told, err := k.Do(add)
	if _, there := os.Stat(home); err != nil || there == nil || !strings.Contains(told, home+".2001") {
		t.Errorf("the folder is there: %v; told %q, %v", there == nil, told, err)
	}
	if all, err := filepath.Glob(home + ".*/.npmrc"); err != nil || len(all) != 1 {
		t.Errorf("what was kept is in %q %v", all, err)
	}
}
