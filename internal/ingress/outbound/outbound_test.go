package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/jail/egress"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/connect"
)

// desk is a kernel of the test's: what it decides about each host, and a
// person who answers. The tool behind it is the real one.
type desk struct {
	t       *testing.T
	connect *connect.Tool
	permits *permit.Issuer
	guard   *netguard.Guard

	mu       sync.Mutex
	verdicts map[string]reeve.Verdict // by host; absent: ask
	answer   func(ctx context.Context, host string) (yes bool, session bool)
	granted  map[[32]byte]string
	did      []string // hosts that were decided for good
	denied   []string
	reports  []string
	asked    int
	dialled  int
}

func newDesk(t *testing.T) (*desk, *Session) {
	d := &desk{t: t, verdicts: map[string]reeve.Verdict{}, granted: map[[32]byte]string{}}
	d.guard = &netguard.Guard{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			if strings.HasPrefix(name, "inward") {
				return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Own: func() ([]netip.Addr, error) { return nil, nil },
		Connect: func(context.Context, netip.AddrPort) (netguard.Conn, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.dialled++
			return &net.TCPConn{}, nil
		},
	}
	d.connect = connect.New(d.guard)
	d.permits = permit.NewIssuer(time.Now)
	n := 0
	door := &Door{Kernel: d, Connect: d.connect, Clean: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED]") },
		Granted: func(_ string, call [32]byte) string { d.mu.Lock(); defer d.mu.Unlock(); return d.granted[call] },
		NewID:   func() string { d.mu.Lock(); defer d.mu.Unlock(); n++; return fmt.Sprint("call", n) }, Now: time.Now, Askable: true}
	return d, door.Session("s", "agent:x", []string{"api.example"})
}

func (d *desk) args(inv *reeve.Invocation) connect.Args {
	var a connect.Args
	if err := json.Unmarshal(inv.Args, &a); err != nil {
		d.t.Error(err)
	}
	return a
}

func (d *desk) verdict(inv *reeve.Invocation) (reeve.Decision, connect.Args) {
	a := d.args(inv)
	if inv.Session != "s" || inv.Actor != "agent:x" || inv.Origin != reeve.OriginAgent || inv.Tool != connect.Name || !inv.Contained || !inv.Askable {
		d.t.Errorf("the call is %+v", inv)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.verdicts[a.Host]
	if !ok {
		v = reeve.Ask
	}
	dec := reeve.Decision{Verdict: v, Step: reeve.StepPolicy, Rule: "web(domain:" + a.Host + ")", Source: "policy.toml:1", Reason: "by the test"}
	if a.Fault != "" {
		dec = reeve.Decision{Step: reeve.StepShape, Rule: "arguments", Reason: a.Fault}
	}
	return dec, a
}

func (d *desk) Explain(_ context.Context, inv *reeve.Invocation) reeve.Decision {
	dec, _ := d.verdict(inv)
	return dec
}

func (d *desk) Do(ctx context.Context, inv *reeve.Invocation) (reeve.Decision, reeve.Result) {
	dec, a := d.verdict(inv)
	if dec.Verdict == reeve.Ask {
		d.mu.Lock()
		grant := d.granted[inv.CallDigest()]
		d.asked++
		answer := d.answer
		d.mu.Unlock()
		yes, session := grant != "", false
		if !yes {
			yes, session = answer(ctx, a.Host)
		}
		dec.Step, dec.Approval = reeve.StepConfirm, "approval"
		if dec.Verdict = reeve.Deny; yes {
			dec.Verdict = reeve.Allow
		}
		if session {
			d.mu.Lock()
			d.granted[inv.CallDigest()] = "approval"
			d.mu.Unlock()
		}
	}
	d.mu.Lock()
	if dec.Verdict != reeve.Allow {
		d.denied = append(d.denied, strings.TrimSpace(a.Host+" "+a.Fault))
		d.mu.Unlock()
		return dec, reeve.Result{Status: reeve.StatusDenied, Error: dec.Reason}
	}
	d.did = append(d.did, a.Host)
	d.mu.Unlock()
	return dec, d.connect.Run(ctx, tool.Call{ID: inv.ID, Args: inv.Args, Digest: inv.Digest(), Permit: d.permits.Mint(inv.Digest(), time.Minute)})
}

func (d *desk) Report(_ context.Context, id string, r reeve.Result) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports = append(d.reports, fmt.Sprintf("%s %s%s", r.Status, r.Output, r.Error))
	return nil
}

func (d *desk) list(l *[]string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(*l)
}

func ask(host string) egress.Asked { return egress.Asked{Host: host, Port: 443} }

// use lets one connection through and ends it.
func use(t *testing.T, s *Session, host string) {
	t.Helper()
	p, err := s.Allow(t.Context(), ask(host))
	if err != nil {
		t.Fatalf("%s: %v", host, err)
	}
	if _, err := p.Dial(t.Context()); err != nil {
		t.Fatalf("%s: %v", host, err)
	}
	p.Done(10, 20)
}

func TestEachHostIsOneCallAndOneOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		d.verdicts["a.example"], d.verdicts["b.example"] = reeve.Allow, reeve.Allow
		for range 5 {
			use(t, s, "a.example")
		}
		use(t, s, "b.example")
		if got := d.list(&d.did); !slices.Equal(got, []string{"a.example", "b.example"}) {
			t.Errorf("decided %v", got)
		}
		if got := d.list(&d.reports); len(got) != 0 {
			t.Errorf("reported %v while the session lasts", got)
		}
		s.Close()
		got := d.list(&d.reports)
		slices.Sort(got)
		if !slices.Equal(got, []string{"success 1 connection, 10 B sent, 20 B received", "success 5 connections, 50 B sent, 100 B received"}) {
			t.Errorf("reported %v", got)
		}
		if _, err := s.Allow(t.Context(), ask("a.example")); err == nil {
			t.Error("a session that has ended lets a connection out")
		}
	})
}

func TestAWayThatIsNotUsedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		d.verdicts["a.example"] = reeve.Allow
		use(t, s, "a.example")
		time.Sleep(idle / 2)
		use(t, s, "a.example")
		time.Sleep(idle - time.Second)
		synctest.Wait()
		if got := d.list(&d.reports); len(got) != 0 {
			t.Errorf("reported %v although it was used", got)
		}
		p, err := s.Allow(t.Context(), ask("a.example"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * idle) // a connection that stays open is in use
		if got := d.list(&d.reports); len(got) != 0 {
			t.Errorf("reported %v with a connection open", got)
		}
		p.Done(1, 1)
		time.Sleep(idle + time.Second)
		synctest.Wait()
		if got := d.list(&d.reports); !slices.Equal(got, []string{"success 2 connections, 21 B sent, 41 B received"}) {
			t.Errorf("reported %v", got)
		}
		use(t, s, "a.example")
		if got := d.list(&d.did); len(got) != 2 {
			t.Errorf("decided %v", got)
		}
	})
}

func TestAChangeOfTheRulesHoldsFromTheNextConnectionOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		d.verdicts["a.example"] = reeve.Allow
		p, err := s.Allow(t.Context(), ask("a.example"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Holds(t.Context()); err != nil {
			t.Errorf("a further request: %v", err)
		}
		d.mu.Lock()
		d.verdicts["a.example"] = reeve.Deny
		d.mu.Unlock()
		if p.Holds(t.Context()) == nil {
			t.Error("a further request goes although a rule denies it now")
		}
		if _, err := s.Allow(t.Context(), ask("a.example")); err == nil {
			t.Error("a further connection goes although a rule denies it now")
		}
		p.Done(1, 2)
		synctest.Wait()
		if got := d.list(&d.reports); len(got) != 1 {
			t.Errorf("reported %v", got)
		}
	})
}

func TestEqualQuestionsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, yes := range []bool{true, false} {
			d, s := newDesk(t)
			d.answer = func(context.Context, string) (bool, bool) { time.Sleep(5 * time.Second); return yes, false }
			var passes []egress.Pass
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 100 * time.Millisecond)
					p, err := s.Allow(t.Context(), ask("a.example"))
					if (err == nil) != yes {
						t.Errorf("%v: %v", yes, err)
					}
					mu.Lock()
					defer mu.Unlock()
					passes = append(passes, p)
				})
			}
			wg.Wait()
			if d.asked != 1 {
				t.Errorf("%d questions", d.asked)
			}
			if yes {
				for _, p := range passes {
					if p.Named() {
						t.Error("a yes to port 443 opens it to anything")
					}
					if err := p.Holds(t.Context()); err != nil {
						t.Errorf("a further request on a connection that was allowed: %v", err)
					}
					p.Done(1, 0)
				}
				if p, err := s.Allow(t.Context(), ask("a.example")); err != nil || d.asked != 1 {
					t.Errorf("right after that: %v, %d questions", err, d.asked)
				} else {
					p.Done(0, 0)
				}
				time.Sleep(idle + time.Second)
				synctest.Wait()
				if got := d.list(&d.reports); len(got) != 1 {
					t.Errorf("once was reported %v when it was quiet", got)
				}
			}
			s.Close()
		}
	})
}

func TestAYesHoldsOnceOrForTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		session := false
		d.answer = func(context.Context, string) (bool, bool) { return true, session }
		use(t, s, "a.example")
		use(t, s, "a.example")
		if d.asked != 1 {
			t.Errorf("while once lasts: %d questions", d.asked)
		}
		time.Sleep(idle + time.Second)
		use(t, s, "a.example")
		if d.asked != 2 {
			t.Errorf("after once: %d questions", d.asked)
		}
		time.Sleep(idle + time.Second)
		session = true
		use(t, s, "a.example")
		use(t, s, "a.example")
		use(t, s, "a.example")
		if d.asked != 3 {
			t.Errorf("after session: %d questions", d.asked)
		}
		d.mu.Lock()
		clear(d.granted) // a person takes it back
		d.mu.Unlock()
		use(t, s, "a.example")
		if d.asked != 4 {
			t.Errorf("after it was taken back: %d questions", d.asked)
		}
	})
}

func TestANoIsRememberedForALittleWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		d.answer = func(context.Context, string) (bool, bool) { return false, false }
		try := func() error { _, err := s.Allow(t.Context(), ask("a.example")); return err }
		for range 20 {
			var no *egress.Refusal
			if !errors.As(try(), &no) || no.Why == "" || !strings.Contains(no.Help, "--allow-host a.example") {
				t.Fatalf("refused as %+v", no)
			}
		}
		if d.asked != 1 || len(d.denied) != 1 {
			t.Errorf("%d questions, %d rows", d.asked, len(d.denied))
		}
		d.verdicts["a.example"] = reeve.Allow // a rule was written
		if err := try(); err != nil {
			t.Errorf("after a rule allows it: %v", err)
		}
		s.Allow(t.Context(), ask("b.example"))
		time.Sleep(remember + time.Second)
		s.Allow(t.Context(), ask("b.example"))
		if d.asked != 3 {
			t.Errorf("%d questions, want one more after a while", d.asked)
		}
		lines := strings.Join(s.Receipt(), "\n")
		if !strings.Contains(lines, "refused: a.example:443, 20 times: by the test") {
			t.Errorf("the receipt says\n%s", lines)
		}
	})
}

func TestARuleThatDeniesIsRecordedOnceAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		d.verdicts["evil.example"] = reeve.Deny
		for range 50 {
			_, err := s.Allow(t.Context(), ask("evil.example"))
			var no *egress.Refusal
			if !errors.As(err, &no) || !strings.Contains(no.Rule, "web(domain:evil.example), policy.toml:1") || strings.Contains(no.Help, "--allow-host") {
				t.Fatalf("refused as %+v", no)
			}
			time.Sleep(time.Minute)
		}
		if got := d.list(&d.denied); len(got) != 1 {
			t.Errorf("%d rows", len(got))
		}
		if got := strings.Join(s.Receipt(), "\n"); !strings.Contains(got, "evil.example:443, 50 times") {
			t.Errorf("the receipt says %s", got)
		}
	})
}

func TestAHostThatLeadsInwardsIsRefusedAndRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		d.verdicts["inward.example"] = reeve.Allow
		for range 3 {
			p, err := s.Allow(t.Context(), ask("inward.example"))
			if err == nil {
				_, err = p.Dial(t.Context())
				p.Done(0, 0)
			}
			var no *egress.Refusal
			if !errors.As(err, &no) || !strings.Contains(no.Why, "10.0.0.1") || !strings.Contains(no.Help, `hosts."inward.example" = "10.0.0.1"`) {
				t.Fatalf("refused as %+v, %v", no, err)
			}
		}
		s.Close()
		if got := d.list(&d.reports); len(got) != 1 || !strings.Contains(got[0], "denied") || !strings.Contains(got[0], "10.0.0.1") {
			t.Errorf("reported %v", got)
		}
		if d.dialled != 0 {
			t.Errorf("dialled %d times", d.dialled)
		}
	})
}

func TestAClientThatGoesAwayWithdrawsItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		withdrawn := 0
		d.answer = func(ctx context.Context, _ string) (bool, bool) { <-ctx.Done(); withdrawn++; return false, false }
		first, leave1 := context.WithCancel(t.Context())
		second, leave2 := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, ctx := range []context.Context{first, second} {
			wg.Go(func() {
				if _, err := s.Allow(ctx, ask("a.example")); err == nil {
					t.Error("allowed")
				}
			})
		}
		synctest.Wait()
		leave1()
		synctest.Wait()
		if withdrawn != 0 {
			t.Error("the question went although somebody waits")
		}
		leave2()
		wg.Wait()
		synctest.Wait()
		if withdrawn != 1 || d.asked != 1 {
			t.Errorf("%d withdrawn of %d", withdrawn, d.asked)
		}
		if got := strings.Join(s.Receipt(), "\n"); !strings.Contains(got, "a.example:443, 2 times: the program gave up") {
			t.Errorf("the receipt says\n%s", got)
		}
		d.answer = func(context.Context, string) (bool, bool) { return true, false }
		use(t, s, "a.example") // a question that nobody answered is no answer
	})
}

func TestTheEndOfASessionWithdrawsItsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		d.answer = func(ctx context.Context, _ string) (bool, bool) { <-ctx.Done(); return false, false }
		done := make(chan error)
		go func() { _, err := s.Allow(t.Context(), ask("a.example")); done <- err }()
		synctest.Wait()
		s.Close()
		if err := <-done; err == nil {
			t.Error("allowed by the end of the session")
		}
	})
}

func TestFaultsAreRecordedOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		for range 5 {
			s.Fault(t.Context(), ask("a.example"), "the server name of its TLS is hunter2.example")
		}
		for i := range 3 * maxFault {
			s.Fault(t.Context(), egress.Asked{}, fmt.Sprint("fault ", i))
		}
		if got := d.list(&d.denied); len(got) != maxFault || got[0] != "a.example the server name of its TLS is hunter2.example" {
			t.Errorf("%d rows, the first %q", len(got), got[0])
		}
		lines := strings.Join(s.Receipt(), "\n")
		if !strings.Contains(lines, "a.example:443 the server name of its TLS is [REDACTED].example (5 times)") || !strings.Contains(lines, fmt.Sprint(3*maxFault+1-shown, " kinds")) {
			t.Errorf("the receipt says\n%s", lines)
		}
		s.Close()
	})
}

func TestNoMoreHostsAreRefusedOnRecordThanMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		d.verdicts["good.example"] = reeve.Allow
		d.answer = func(context.Context, string) (bool, bool) { return false, false }
		for i := range maxSites + 100 {
			if _, err := s.Allow(t.Context(), ask(fmt.Sprintf("h%d.example", i))); err == nil {
				t.Fatal("allowed")
			}
		}
		if got := d.list(&d.denied); len(got) != maxSites {
			t.Errorf("%d rows", len(got))
		}
		use(t, s, "good.example")
		if got := s.Receipt(); len(got) > shown+3 || !strings.Contains(strings.Join(got, "\n"), "further hosts, 100 times") {
			t.Errorf("the receipt has %d lines: %v", len(got), got)
		}
	})
}

func TestTheAgentsOwnServiceIsSaidToBe(t *testing.T) {
	d, s := newDesk(t)
	defer s.Close()
	for _, c := range []struct {
		host string
		port uint16
		own  bool
	}{{"api.example", 443, true}, {"api.example", 80, false}, {"x.api.example", 443, false}} {
		inv, err := s.invocation(site{c.host, c.port}, "")
		if err != nil || d.args(inv).Own != c.own {
			t.Errorf("%+v: %s, %v", c, inv.Args, err)
		}
	}
}

func TestAPortThatIsAnsweredForIsNamed(t *testing.T) {
	d, s := newDesk(t)
	defer s.Close()
	d.answer = func(context.Context, string) (bool, bool) { return true, false }
	for port, named := range map[uint16]bool{443: false, 80: false, 22: true, 8443: true} {
		p, err := s.Allow(t.Context(), egress.Asked{Host: "a.example", Port: port})
		if err != nil || p.Named() != named {
			t.Errorf("port %d: named %v, %v", port, p.Named(), err)
		}
		p.Done(0, 0)
	}
}

// TestEachRefusedHostIsToldOnce: however often it was asked for.
func TestEachRefusedHostIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := newDesk(t)
		defer s.Close()
		d.answer = func(context.Context, string) (bool, bool) { return false, false }
		for range 3 {
			for _, host := range []string{"a.example", "b.example", "c.example"} {
				if _, err := s.Allow(t.Context(), ask(host)); err == nil {
					t.Fatal("allowed")
				}
			}
		}
		var got []string
		for range 4 {
			told := s.Untold(2)
			if len(told) > 2 {
				t.Errorf("%d at once", len(told))
			}
			for _, no := range told {
				got = append(got, no.At)
			}
		}
		if !slices.Equal(got, []string{"a.example:443", "b.example:443", "c.example:443"}) {
			t.Errorf("told %q", got)
		}
		if lines := strings.Join(s.Receipt(), "\n"); !strings.Contains(lines, "a.example:443, 3 times") {
			t.Errorf("the receipt does not say it any more:\n%s", lines)
		}
	})
}
