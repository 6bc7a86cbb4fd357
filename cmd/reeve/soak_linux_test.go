package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reeve-gate/reeve/internal/jail/keeper"
	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// soak is how long and how hard TestSessionsSurviveASoak works. REEVE_SOAK
// gives the number of sessions in place of a short round's.
type soak struct {
	sessions, atOnce       int
	daemonEvery, keepEvery time.Duration // a kill -9, on average
	least                  time.Duration // sessions are started until then, the number at least
}

func soakSize(t *testing.T) soak {
	v := os.Getenv("REEVE_SOAK")
	if v == "" {
		return soak{sessions: 12, atOnce: 4, daemonEvery: 500 * time.Millisecond, keepEvery: 600 * time.Millisecond}
	}
	least, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("REEVE_SOAK is %q; write a duration such as 10m", v)
	}
	return soak{sessions: 200, atOnce: 20, daemonEvery: 2 * time.Second, keepEvery: 3 * time.Second, least: least}
}

// TestSessionsSurviveASoak starts and stops sessions, many at once, while the
// daemon and the processes that keep sessions are killed at random. In the end
// no process, mount, control group or socket of them is left, each run has one
// outcome in the record, and no line that a follower saw is missing in a log.
func TestSessionsSurviveASoak(t *testing.T) {
	size := soakSize(t)
	in := newRig(t, "")
	in.needsSandbox(t)
	if err := os.WriteFile(filepath.Join(in.home(), "config", "config.toml"), []byte("[sandbox]\nmemory = \"512MiB\"\nprocesses = 64\n"), 0o600); err != nil {
		t.Fatal(err) // so that there are control groups, where they can be made
	}
	in.run(t, nil, "down")
	in.run(t, nil, "up")
	s := &soaked{rig: in, t: t, seed: uint64(time.Now().UnixNano()), mark: filepath.Base(filepath.Dir(in.ws)), killed: map[string]bool{}}
	if v := os.Getenv("REEVE_SOAK_SEED"); v != "" {
		s.seed, _ = strconv.ParseUint(v, 10, 64)
	}
	t.Logf("REEVE_SOAK_SEED=%d", s.seed)
	before := s.count()
	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	var killers, workers sync.WaitGroup
	killers.Go(func() { s.killDaemons(ctx, size.daemonEvery) })
	killers.Go(func() { s.killKeepers(ctx, size.keepEvery) })
	turns := make(chan int)
	for range size.atOnce {
		workers.Go(func() {
			for n := range turns {
				s.one(n)
			}
		})
	}
	n := 0
	for ; n < size.sessions || time.Since(began) < size.least; n++ {
		turns <- n
	}
	close(turns)
	workers.Wait()
	stop()
	killers.Wait()
	s.settle(n, before)
	t.Logf("%d sessions, %d at once, in %s: %d ended by themselves, %d stopped, %d whose keeper was killed; the daemon was killed %d times, %d times before it had started a program; %d lines were followed and none is missing; before %v, after %v",
		n, size.atOnce, time.Since(began).Round(time.Second), s.ended.Load(), s.stopped.Load(), s.lost.Load(), s.daemons.Load(), s.never.Load(), s.lines.Load(), before, s.count())
}

type soaked struct {
	*rig
	t    *testing.T
	seed uint64
	mark string // in the command line of every program of a session here

	mu     sync.Mutex
	killed map[string]bool // sessions whose keeper was killed

	ended, stopped, lost, never, daemons, lines atomic.Int64
}

// try runs a command again while the daemon is killed under it.
func (s *soaked) try(args ...string) (out, errs []byte, err error) {
	for until := time.Now().Add(60 * time.Second); ; {
		cmd := exec.Command(s.bin, args...)
		cmd.Dir, cmd.Env = s.ws, s.env
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		err = cmd.Run()
		if err == nil || !bytes.Contains(e.Bytes(), []byte("unavailable")) || time.Now().After(until) {
			return o.Bytes(), e.Bytes(), err
		}
	}
}

// find is the newest session of a name, as the daemon of this moment has it.
func (s *soaked) find(name string) (wire.Session, bool) {
	out, errs, err := s.try("sessions", "--json")
	if err != nil {
		s.t.Errorf("sessions: %v %s", err, errs)
		return wire.Session{}, false
	}
	var all []wire.Session
	if err := wire.Decode(bytes.TrimSpace(out), &all); err != nil {
		s.t.Error(err)
	}
	slices.Reverse(all)
	i := slices.IndexFunc(all, func(w wire.Session) bool { return w.Name == name })
	if i < 0 {
		return wire.Session{}, false
	}
	return all[i], true
}

// one takes a session from its start to its end.
func (s *soaked) one(n int) {
	rng := rand.New(rand.NewPCG(s.seed, uint64(n)))
	name, lines, code := fmt.Sprintf("s%d", n), 20+rng.IntN(300), rng.IntN(100)
	endless := rng.IntN(3) == 0
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "line $i of it"; i=$((i+1)); [ $((i %% 10)) = 0 ] && sleep 0.1; done; %s exit %d`,
		lines, map[bool]string{true: "sleep 3600; "}[endless], code)
	for attempt := 0; ; attempt++ {
		_, errs, err := s.try("run", "--detach", "--name", name, "--", "sh", "-c", script, s.mark)
		if one, there := s.find(name); there && one.State == "failed" {
			s.never.Add(1) // the daemon was killed before the program was started: nothing ran
			s.try("sessions", "rm", one.ID)
			continue
		} else if there {
			break // also where the daemon was killed before it could say so
		}
		if err == nil {
			s.t.Errorf("%s was started and is not there", name)
			return
		}
		if attempt == 10 { // its keeper may be killed before it answers, but not each time
			s.t.Errorf("start %s: %v %s", name, err, errs)
			return
		}
	}
	saw := s.follow(name, endless, lines, rng)
	one := s.await(name)
	s.check(name, one, saw, lines, code, endless)
}

// follow reads a session's log as it comes, again where the daemon is killed
// meanwhile, and returns the last line that it saw. An endless session is
// stopped after a while.
func (s *soaked) follow(name string, endless bool, lines int, rng *rand.Rand) (last int) {
	last = -1
	stop := time.AfterFunc(time.Duration(rng.IntN(4000))*time.Millisecond, func() {
		if endless {
			if _, errs, err := s.try("sessions", "stop", name); err != nil && !bytes.Contains(errs, []byte("no session")) { // it may have been lost and removed
				s.t.Errorf("stop %s: %v %s", name, err, errs)
			}
		}
	})
	defer stop.Stop()
	for {
		cmd := exec.Command(s.bin, "sessions", "logs", "-f", name)
		cmd.Dir, cmd.Env = s.ws, s.env
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			s.t.Errorf("follow %s: %v", name, err)
			return last
		}
		for in := bufio.NewScanner(out); in.Scan(); {
			var i int
			if n, _ := fmt.Sscanf(in.Text(), "line %d of it", &i); n == 1 {
				last = max(last, i)
			}
		}
		cmd.Wait()
		if one, there := s.find(name); !there || one.State != "running" {
			return last
		}
	}
}

// await waits until the end of a session was dealt with.
func (s *soaked) await(name string) wire.Session {
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		if one, there := s.find(name); there && (one.State == "ended" || one.State == "lost") {
			return one
		}
	}
	one, there := s.find(name)
	s.t.Errorf("%s does not end: %v %+v", name, there, one)
	return one
}

func (s *soaked) check(name string, one wire.Session, saw, lines, code int, endless bool) {
	s.mu.Lock()
	killed := s.killed[one.ID]
	s.mu.Unlock()
	switch {
	case one.State == "lost" && killed:
		s.lost.Add(1)
	case one.State == "lost":
		s.t.Errorf("%s is lost, and nobody killed its keeper: %+v", name, one)
	case endless:
		s.stopped.Add(1)
	case one.Code == nil || *one.Code != code:
		s.t.Errorf("%s ended with %+v, want %d", name, one, code)
	default:
		s.ended.Add(1)
	}
	out, errs, err := s.try("sessions", "logs", one.ID) // a name may have been another's before
	if err != nil {
		s.t.Errorf("logs of %s: %v %s", name, err, errs)
		return
	}
	next := 0
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == fmt.Sprintf("line %d of it", next) {
			next++
		}
	}
	if next <= saw || one.State == "ended" && !endless && next != lines {
		s.t.Errorf("the log of %s (%s) ends before line %d; %d was followed, %d were shown", name, one.State, next, saw, lines)
	}
	s.lines.Add(int64(saw + 1))
	if _, errs, err := s.try("sessions", "rm", one.ID); err != nil && !bytes.Contains(errs, []byte("no session")) {
		s.t.Errorf("rm %s: %v %s", name, err, errs)
	}
}

// now and then calls f at random moments until ctx ends.
func nowAndThen(ctx context.Context, every time.Duration, f func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rand.Int64N(int64(2 * every)))):
			f()
		}
	}
}

func (s *soaked) killDaemons(ctx context.Context, every time.Duration) {
	nowAndThen(ctx, every, func() {
		cmd := exec.Command(s.bin, "status", "--json")
		cmd.Dir, cmd.Env = s.ws, s.env
		out, err := cmd.Output()
		var st wire.Status
		if err != nil || wire.Decode(bytes.TrimSpace(out), &st) != nil {
			return
		}
		if killed(st.PID) == nil {
			s.daemons.Add(1)
		}
	})
}

func (s *soaked) killKeepers(ctx context.Context, every time.Duration) {
	nowAndThen(ctx, every, func() {
		folders, _ := filepath.Glob(filepath.Join(s.home(), "state", "sessions", "*"))
		for _, i := range rand.Perm(len(folders)) {
			p, err := keeper.Find(folders[i])
			if err != nil {
				continue
			}
			fd, err := unix.PidfdOpen(p.Keeper.PID, 0)
			if err != nil {
				continue // it has ended
			}
			is, _, _, err := localsock.Look(p.Keeper.PID)
			if err == nil && is == p.Keeper { // and no other that has its number now
				s.mu.Lock()
				s.killed[filepath.Base(folders[i])] = true
				s.mu.Unlock()
				err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
			unix.Close(fd)
			if err == nil && is == p.Keeper {
				return
			}
		}
	})
}

func (s *soaked) exe(pid int) string {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return exe
}

// counts are what a session could leave behind on this machine.
type counts struct{ processes, mounts, groups, sockets, folders int }

func (s *soaked) count() (c counts) {
	pids, _ := os.ReadDir("/proc")
	for _, p := range pids {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if bytes.Contains(stat, []byte(") Z ")) {
			continue // dead, and waits for whoever reaps here
		}
		if bytes.Contains(line, []byte(s.mark)) || s.exe(pid) == s.bin {
			c.processes++
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	c.mounts = bytes.Count(mounts, []byte("\n"))
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "reeve-") {
			if in, err := os.ReadFile(filepath.Join(path, "cgroup.procs")); err == nil && len(in) == 0 {
				c.groups++ // nobody's
			}
		}
		return nil
	})
	sockets, _ := os.ReadFile("/proc/net/unix")
	for line := range bytes.Lines(sockets) {
		// Of those that listen; one in hooks is made ready for the next run.
		if bytes.Contains(line, []byte(s.mark)) && bytes.Contains(line, []byte(" 00010000 ")) && !bytes.Contains(line, []byte("/state/hooks/")) {
			c.sockets++
		}
	}
	if spare, _ := filepath.Glob(filepath.Join(s.home(), "state", "hooks", "*.sock")); len(spare) > 1 {
		c.sockets += len(spare) - 1
	}
	folders, _ := filepath.Glob(filepath.Join(s.home(), "state", "sessions", "*", "kept.json"))
	c.folders = len(folders)
	return c
}

// settle ends what is left and compares.
func (s *soaked) settle(n int, before counts) {
	for _, w := range s.sessions(s.t) { // what never ran, and was started again
		if w.State == "failed" {
			s.never.Add(1)
		}
	}
	s.run(s.t, nil, "sessions", "rm", "--all")
	s.run(s.t, nil, "audit", "verify")
	rows := s.run(s.t, nil, "audit", "ls", "--json", "--tool", "run", "--limit", "100000")
	if got := bytes.Count(rows, []byte(`"tool_name":"run"`)); got < n {
		s.t.Errorf("the record has %d runs, want %d at least", got, n)
	}
	if open := bytes.Count(rows, []byte(`"phase":"intent"`)); open > 0 {
		s.t.Errorf("%d runs have no outcome in the record", open)
	}
	unknown := int64(bytes.Count(rows, []byte(`"result_status":"unknown"`)))
	if unknown < s.lost.Load() {
		s.t.Errorf("%d runs are unknown in the record, want %d, the lost ones", unknown, s.lost.Load())
	}
	var after counts
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		if after = s.count(); after == before || after.groups < before.groups && after.processes == before.processes {
			return
		}
	}
	s.t.Errorf("before there were %+v, and after %+v: %s", before, after, s.run(s.t, nil, "sessions"))
}
