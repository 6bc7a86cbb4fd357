package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPlacesAreReadFromWhatTheKernelSays(t *testing.T) {
	for name, c := range map[string]struct {
		groups, mounts string
		v2             string // mount and own place
		v1             map[string]string
	}{
		"version 2 alone": {
			"0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n",
			"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			"/sys/fs/cgroup /user.slice/user-1000.slice/user@1000.service/app.slice/term.scope", nil},
		"both": {
			"8:pids:/\n4:memory:/a/b\n9:name=systemd:/x\n0::/\n",
			"40 39 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 39 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n42 39 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"/sys/fs/cgroup/unified /", map[string]string{"memory": "/sys/fs/cgroup/memory /a/b", "pids": "/sys/fs/cgroup/pids /"}},
		"a container sees a part": {
			"0::/docker/abc/job\n",
			`30 23 0:26 /docker/abc /sys/fs/c\040group rw - cgroup2 cgroup2 rw` + "\n",
			"/sys/fs/c group /job", nil},
		"a place that is not below the mount": {
			"0::/docker/abcd\n", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "", nil},
		"nothing mounted":  {"0::/\n3:memory:/\n", "22 1 8:1 / / rw - ext4 /dev/vda rw\n", "", nil},
		"cut short":        {"0:\n::\n4:memory\n", "30 23\n - cgroup2\n", "", nil},
		"a path from hell": {"0::../../etc\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "", nil},
	} {
		p := parse(c.groups, c.mounts)
		got := ""
		if p.v2 != nil {
			got = p.v2.mount + " " + p.v2.own
		}
		if got != c.v2 {
			t.Errorf("%s: version 2 at %q, want %q", name, got, c.v2)
		}
		v1 := map[string]string{}
		for _, h := range p.v1 {
			v1[h.controllers[0]] = h.mount + " " + h.own
		}
		for k, want := range c.v1 {
			if v1[k] != want {
				t.Errorf("%s: %s at %q, want %q", name, k, v1[k], want)
			}
		}
		if len(v1) != len(c.v1) {
			t.Errorf("%s: version 1 at %v, want %v", name, v1, c.v1)
		}
	}
}

// delegated makes directories as systemd hands them to a user's session: our
// own group has no controllers for children, the one above does.
func delegated(t *testing.T, controllers string) (Places, string) {
	t.Helper()
	mount := t.TempDir()
	above := filepath.Join(mount, "user", "app.slice")
	own := filepath.Join(above, "term.scope")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, has := range map[string]string{mount: "memory pids", filepath.Dir(above): "memory pids", above: controllers, own: ""} {
		for name, text := range map[string]string{"cgroup.subtree_control": has, "cgroup.procs": ""} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return Places{v2: &hierarchy{mount: mount, own: "/user/app.slice/term.scope"}}, above
}

func TestTheNearestGroupThatHandsOnControllersIsUsed(t *testing.T) {
	p, above := delegated(t, "memory pids")
	g, held, unheld := p.Make("1", Bounds{Memory: 1 << 30, Processes: 100, CPU: 1500})
	if g == nil {
		t.Fatalf("no group: held %v, unheld %v", held, unheld)
	}
	// The files are real ones here, so that what is asked of the kernel can be read.
	for name, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "100"} {
		got, err := os.ReadFile(filepath.Join(above, prefix+"1", name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	if !slices.Contains(held, "100 processes") {
		t.Errorf("held %v", held)
	}
	if err := g.Add(4711); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(above, prefix+"1", "cgroup.procs")); string(got) != "4711" {
		t.Errorf("the process is not in the group: %q", got)
	}
}

func TestWithoutAGroupEveryBoundIsNamed(t *testing.T) {
	b := Bounds{Memory: 1 << 30, Processes: 100, CPU: 500}
	for name, p := range map[string]Places{"no hierarchy": {}, "no directory": {v2: &hierarchy{mount: "/nonexistent", own: "/"}}} {
		if g, held, unheld := p.Make("1", b); g != nil || len(held) != 0 || !slices.Equal(unheld, []string{"memory", "processes", "processors"}) {
			t.Errorf("%s: group %v, held %v, unheld %v", name, g, held, unheld)
		}
	}
	p, _ := delegated(t, "memory pids")
	for _, id := range []string{"", "a/b", "../x", "a\nb"} {
		if g, _, unheld := p.Make(id, b); g != nil || len(unheld) != 3 {
			t.Errorf("a group was made for the id %q", id)
		}
	}
	if g, held, unheld := p.Make("2", Bounds{}); g != nil || held != nil || unheld != nil {
		t.Errorf("no bound asked for: %v %v %v", g, held, unheld)
	}
	var none *Group
	if err := none.Add(1); err != nil {
		t.Error(err)
	}
	if err := none.Remove(); err != nil {
		t.Error(err)
	}
}

// TestTheKernelHoldsWhatWasAsked needs a hierarchy that may be written.
func TestTheKernelHoldsWhatWasAsked(t *testing.T) {
	p, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	g, held, unheld := p.Make("test", Bounds{Processes: 8})
	if g == nil {
		t.Skipf("no control group can be made here: %v", unheld)
	}
	defer g.Remove()
	cmd := exec.Command("sh", "-c", "read go; i=0; while [ $i -lt 20 ]; do sleep 600 & i=$((i+1)); done; echo all")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(t.TempDir(), "said")
	if cmd.Stdout, err = os.Create(said); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	err = cmd.Wait()
	if out, _ := os.ReadFile(said); err == nil || len(out) > 0 {
		t.Errorf("20 processes started under a bound of 8 (%v): %v, %q", held, err, out)
	}
	for _, dir := range g.dirs {
		for _, pid := range words(filepath.Join(dir, "cgroup.procs")) {
			exec.Command("kill", "-9", pid).Run()
		}
	}
	if err := g.Remove(); err != nil {
		t.Errorf("the group stays behind: %v", err)
	}
}

func TestOldEmptyGroupsAreSwept(t *testing.T) {
	p, above := delegated(t, "pids")
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	old, young, foreign := filepath.Join(above, prefix+"old"), filepath.Join(above, prefix+"young"), filepath.Join(above, "other")
	dead, alive := filepath.Join(above, fmt.Sprintf("%s%d-x", prefix, gone.Process.Pid)), filepath.Join(above, fmt.Sprintf("%s%d-x", prefix, os.Getpid()))
	for _, dir := range []string{old, young, foreign, dead, alive} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	lately := time.Now().Add(-sweepDead - time.Second)
	if err := errors.Join(os.Chtimes(old, long, long), os.Chtimes(foreign, long, long), os.Chtimes(dead, lately, lately), os.Chtimes(alive, lately, lately)); err != nil {
		t.Fatal(err)
	}
	if n := p.Sweep(); n != 2 {
		t.Errorf("%d groups swept, want the old one and that of a process that is dead", n)
	}
	for dir, want := range map[string]bool{old: false, young: true, foreign: true, dead: false, alive: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}
