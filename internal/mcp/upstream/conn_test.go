package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/message"
)

// TestTheEraOfAServerIsFoundOut: what each server is asked, how often it is
// started and how long that takes.
func TestTheEraOfAServerIsFoundOut(t *testing.T) {
	const handshake = "initialize notifications/initialized"
	for _, c := range []struct {
		name   string
		modes  []string
		known  Era
		only   Era
		era    Era
		starts int
		last   string // what the last one was asked
		within time.Duration
	}{
		{"modern", []string{"modern"}, 0, 0, EraModern, 1, "server/discover", 0},
		{"both", []string{"dual"}, 0, 0, EraModern, 1, "server/discover", 0},
		{"legacy that says no", []string{"legacy"}, 0, 0, EraLegacy, 1, "server/discover " + handshake, 0},
		{"legacy that says nothing", []string{"legacy,silent"}, 0, 0, EraLegacy, 2, handshake, DefaultProbe},
		{"legacy that ends on the question", []string{"legacy,exits"}, 0, 0, EraLegacy, 2, handshake, 0},
		{"legacy, with noise", []string{"legacy,noise"}, 0, 0, EraLegacy, 1, "server/discover " + handshake, 0},
		{"known to be legacy", []string{"legacy,silent"}, EraLegacy, 0, EraLegacy, 1, handshake, 0},
		{"known to be modern", []string{"modern"}, EraModern, 0, EraModern, 1, "server/discover", 0},
		{"was legacy, is modern", []string{"modern"}, EraLegacy, 0, EraModern, 2, "server/discover", 0},
		{"was modern, is legacy", []string{"legacy"}, EraModern, 0, EraLegacy, 2, "server/discover " + handshake, 0},
		{"both, told to be legacy", []string{"dual"}, EraModern, EraLegacy, EraLegacy, 1, handshake, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				conn, s := open(t, Options{Known: c.known, Only: c.only}, c.modes...)
				defer conn.Close()
				if took := time.Since(began); took != c.within {
					t.Errorf("took %s, want %s", took, c.within)
				}
				if conn.Era() != c.era || len(s.made) != c.starts || s.last().methods() != c.last {
					t.Errorf("era %s after %d starts, asked %q; want %s, %d, %q", conn.Era(), len(s.made), s.last().methods(), c.era, c.starts, c.last)
				}
				if info := conn.Info(); info.Instructions != "Use echo." || !info.Offers("tools", "listChanged") || info.Offers("sampling", "") {
					t.Errorf("learnt %+v", info)
				}
				if got := echo(t, conn, "hé"); got != "hé" {
					t.Errorf("echo says %q", got)
				}
			})
		})
	}
}

// echo calls the tool of that name.
func echo(t *testing.T, c *Conn, text string) string {
	t.Helper()
	result, err := c.Call(t.Context(), tool("echo", `{"text":`+string(message.Quote(text))+`}`))
	return said(t, result, err)
}

func TestAServerThatCannotBeSpokenToIsSaidSo(t *testing.T) {
	for _, c := range []struct {
		name   string
		modes  []string
		known  Era
		only   Era
		starts int
		want   string
	}{
		{"answers nothing", []string{"deaf"}, 0, 0, 2, "did not answer in time"},
		{"ends each time", []string{"modern,exits", "modern,exits"}, 0, 0, 2, "initialize"},
		{"modern alone, and legacy wanted", []string{"modern"}, 0, EraLegacy, 1, "initialize"},
		{"not there", []string{"refused"}, 0, 0, 0, "no such program"},
		{"not there, though known", []string{"refused"}, EraLegacy, 0, 0, "no such program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &starts{modes: c.modes}
				conn, err := Open(t.Context(), Options{Name: "t", Dial: s.dial, Known: c.known, Only: c.only})
				if err == nil {
					conn.Close()
					t.Fatal("it was opened")
				}
				if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "server t") || len(s.made) != c.starts {
					t.Errorf("%v after %d starts, want %q after %d", err, len(s.made), c.want, c.starts)
				}
			})
		})
	}
}

func both(t *testing.T, f func(t *testing.T, era string)) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, era) }) })
	}
}

func TestProgressReachesItsCallAndGivesItTime(t *testing.T) {
	both(t, func(t *testing.T, era string) {
		c, s := open(t, Options{}, era)
		defer c.Close()
		var got []string
		r := tool("progress", `{}`)
		r.Progress = func(p []byte) { got = append(got, string(p)) }
		result, err := c.Call(t.Context(), r)
		if said(t, result, err) != "done" || len(got) != 3 || got[2] != `{"progress":3,"total":3,"message":"step 3"}` {
			t.Errorf("said %s, %v, progress %q", result, err, got)
		}
		// Progress for a call that is over is counted and goes nowhere.
		c.Receive(message.Message{Kind: message.Notification, Method: "notifications/progress", Params: []byte(`{"progressToken":` + string(s.last().sends[len(s.last().sends)-1].ID) + `,"progress":9}`)}, "")
		if len(got) != 3 || c.Oddities()[Unasked] != 1 {
			t.Errorf("after the end: %d reports, %v", len(got), c.Oddities())
		}
	})
}

func TestProgressExtendsTheTimeButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := open(t, Options{}, "legacy")
		defer c.Close()
		r := tool("hang", `{}`)
		r.Timeout, r.Limit = 10*time.Second, 35*time.Second
		var reports atomic.Int32
		r.Progress = func([]byte) { reports.Add(1) }
		began := time.Now()
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-time.After(9 * time.Second):
					c.mu.Lock()
					id := c.next
					c.mu.Unlock()
					c.Receive(message.Message{Kind: message.Notification, Method: "notifications/progress", Params: fmt.Appendf(nil, `{"progressToken":%d,"progress":1}`, id)}, "")
				case <-stop:
					return
				}
			}
		}()
		_, err := c.Call(t.Context(), r)
		close(stop)
		if took := time.Since(began); !errors.Is(err, ErrLate) || took != 35*time.Second || reports.Load() != 3 {
			t.Errorf("%v after %s and %d reports, want a late call after 35s and 3", err, took, reports.Load())
		}
		synctest.Wait()
		if !strings.HasSuffix(s.last().methods(), "tools/call notifications/cancelled") {
			t.Errorf("the server was sent %q", s.last().methods())
		}
	})
}

func TestACallEndsWhateverTheServerDoes(t *testing.T) {
	both(t, func(t *testing.T, era string) {
		c, s := open(t, Options{}, era)
		defer c.Close()
		began := time.Now()
		_, err := c.Call(t.Context(), tool("hang", `{}`))
		if took := time.Since(began); !errors.Is(err, ErrLate) || took != DefaultTimeout {
			t.Errorf("hang: %v after %s", err, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Call(ctx, tool("hang", `{}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		synctest.Wait()
		if n := strings.Count(s.last().methods(), "notifications/cancelled"); n != 2 {
			t.Errorf("%d calls were cancelled at the server, want 2", n)
		}
		var rejected *message.Error
		if _, err := c.Call(t.Context(), Request{Method: "no/such"}); !errors.As(err, &rejected) || rejected.Code != message.CodeMethodNotFound {
			t.Errorf("no such method: %v", err)
		}
		if got := echo(t, c, "still here"); got != "still here" {
			t.Errorf("after all that: %q", got)
		}
		_, err = c.Call(t.Context(), tool("crash", `{}`))
		var gone *Gone
		if !errors.As(err, &gone) || !strings.Contains(err.Error(), "exited with 3") || !strings.Contains(err.Error(), "not known") {
			t.Errorf("crash: %v", err)
		}
		if _, err := c.Call(t.Context(), tool("echo", `{}`)); !errors.As(err, &gone) {
			t.Errorf("a call after the end: %v", err)
		}
	})
}

func TestOddAnswersAreCountedAndDropped(t *testing.T) {
	both(t, func(t *testing.T, era string) {
		c, _ := open(t, Options{}, era+",twice,wrong,noise")
		defer c.Close()
		for i := range 20 {
			if got := echo(t, c, fmt.Sprint(i)); got != fmt.Sprint(i) {
				t.Errorf("call %d: %q", i, got)
			}
		}
		synctest.Wait()
		odd := c.Oddities()
		if odd[Unasked] != 40 || odd[Noise] < 40 {
			t.Errorf("counted %v, want 40 answers too many, and noise", odd)
		}
	})
}

func TestAnAnswerThatReadsInTwoWaysIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, Options{}, "legacy")
		defer c.Close()
		if _, err := c.Call(t.Context(), tool("broken", `{}`)); !errors.Is(err, ErrLate) {
			t.Errorf("a result with a name twice: %v", err)
		}
		if c.Oddities()[Noise] != 1 {
			t.Errorf("counted %v", c.Oddities())
		}
	})
}

func TestAnAnswerAboveTheBoundFailsTheOldestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, Options{}, "modern")
		defer c.Close()
		began := time.Now()
		_, err := c.Call(t.Context(), tool("big", `{"bytes":3000000}`))
		if !errors.Is(err, ErrLong) || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if got := echo(t, c, "next"); got != "next" {
			t.Errorf("after it: %q", got)
		}
	})
}

func TestAPushyServerGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c, s := open(t, Options{Events: Events{Ask: func(context.Context, Ask) Answer {
			asked.Add(1)
			return Answer{Err: &message.Error{Code: message.CodeMethodNotFound, Message: "not offered"}}
		}}}, "legacy,pushy")
		defer c.Close()
		synctest.Wait()
		if got := echo(t, c, "x"); got != "x" {
			t.Errorf("echo: %q", got)
		}
		synctest.Wait()
		if asked.Load() != 3 || c.Oddities()[Barred] != 4 || c.Oddities()[Unasked] != 1 {
			t.Errorf("asked %d times, counted %v", asked.Load(), c.Oddities())
		}
		refused := 0
		for _, m := range s.last().sends {
			if m.Kind == message.Response && m.Error != nil && m.Error.Code == message.CodeMethodNotFound {
				refused++
			}
		}
		if refused != 3 {
			t.Errorf("%d requests were refused, want 3", refused)
		}
	})
}

func TestAModernServerHasNoRightToARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := open(t, Options{}, "modern")
		defer c.Close()
		c.Receive(message.Message{Kind: message.Request, ID: "1", Method: "sampling/createMessage", Params: []byte("{}")}, "")
		synctest.Wait()
		if c.Oddities()[Barred] != 1 || s.last().methods() != "server/discover" {
			t.Errorf("counted %v, the server was sent %q", c.Oddities(), s.last().methods())
		}
	})
}

// TestAServerAsksBack: the same tools in both eras, and time stands still
// while somebody thinks.
func TestAServerAsksBack(t *testing.T) {
	both(t, func(t *testing.T, era string) {
		c, _ := open(t, Options{}, era)
		defer c.Close()
		var asks []string
		input := func(_ context.Context, all []Ask) ([]Answer, error) {
			time.Sleep(5 * time.Minute) // a person
			asks = append(asks, all[0].Method)
			return []Answer{{Key: all[0].Key, Result: []byte(`{"action":"accept","content":{"name":"A"}}`)}}, nil
		}
		for name, want := range map[string]string{
			"ask":       `said: {"action":"accept","content":{"name":"A"}}`,
			"ask_twice": `{"action":"accept","content":{"name":"A"}}`,
		} {
			r := tool(name, `{}`)
			r.Input = input
			result, err := c.Call(t.Context(), r)
			if got := said(t, result, err); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %q", name, got)
			}
		}
		if len(asks) != 3 || asks[0] != "elicitation/create" {
			t.Errorf("asked for %q", asks)
		}
		r := tool("ask", `{}`)
		result, err := c.Call(t.Context(), r) // nobody answers
		if got := said(t, result, err); !strings.Contains(got, "asks back where it may not") && !strings.Contains(got, "refused") {
			t.Errorf("with nobody to ask: %q", got)
		}
	})
}

func TestTheStateOfARoundGoesBackAsItCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := open(t, Options{}, "modern")
		defer c.Close()
		r := tool("ask_twice", `{}`)
		r.Params = append(r.Params, message.Own("inputResponses", []byte(`{"stale":{}}`)))
		r.Input = func(_ context.Context, all []Ask) ([]Answer, error) {
			return []Answer{{Key: "in", Result: []byte(`{"action":"decline"}`)}}, nil
		}
		if _, err := c.Call(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		sends := s.last().sends
		last, _ := message.Members(sends[len(sends)-1].Params)
		if got := string(last.Get("requestState")); got != `"{\"action\":\"decline\"};"` {
			t.Errorf("state %s", got)
		}
		if got := string(last.Get("inputResponses")); got != `{"in":{"action":"decline"}}` {
			t.Errorf("responses %s", got)
		}
		if last.Text("name") != "ask_twice" || sends[len(sends)-1].ID == sends[len(sends)-2].ID {
			t.Errorf("the last round was %s, id %s", sends[len(sends)-1].Params, sends[len(sends)-1].ID)
		}
	})
}

func TestAServerMayNotAskForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, Options{}, "modern")
		defer c.Close()
		n := 0
		r := tool("ask", `{}`)
		r.Input = func(context.Context, []Ask) ([]Answer, error) { n++; return nil, nil } // never what it wants
		_, err := c.Call(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), "asked back 10 times") || n != MaxRounds {
			t.Errorf("%v after %d rounds", err, n)
		}
	})
}

func TestWhatEachEraIsToldOfUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Client: []byte(`{"name":"reeve","version":"0"}`), Capabilities: []byte(`{"elicitation":{}}`)}
		for era, want := range map[string]string{
			"modern": `{"name":"echo","arguments":{},"_meta":{"traceparent":"00-x","io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"reeve","version":"0"},` +
				`"io.modelcontextprotocol/logLevel":"info","progressToken":2}}`,
			"legacy": `{"name":"echo","arguments":{},"_meta":{"traceparent":"00-x","progressToken":3}}`,
		} {
			c, s := open(t, o, era)
			r := tool("echo", `{}`)
			r.Params = append(r.Params, message.Own("_meta", []byte(`{"traceparent":"00-x","progressToken":"theirs","io.modelcontextprotocol/clientInfo":{"name":"somebody"}}`)))
			r.Progress, r.Capabilities, r.LogLevel = func([]byte) {}, []byte(`{"roots":{}}`), "info"
			if _, err := c.Call(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			sends := s.last().sends
			if got := string(sends[len(sends)-1].Params); got != want {
				t.Errorf("%s was sent\n%s, want\n%s", era, got, want)
			}
			c.Close()
		}
	})
}

func TestALogMessageReachesItsCall(t *testing.T) {
	both(t, func(t *testing.T, era string) {
		var loose []string
		c, _ := open(t, Options{Events: Events{Log: func(p []byte) { loose = append(loose, string(p)) }}}, era)
		defer c.Close()
		var got []string
		r := tool("log", `{}`)
		r.Log = func(p []byte) { got = append(got, string(p)) }
		r.Input = func(context.Context, []Ask) ([]Answer, error) { return nil, nil }
		r.LogLevel = "info"
		if _, err := c.Call(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || len(loose) != 0 || got[0] != `{"level":"info","logger":"t","data":"a word"}` {
			t.Errorf("call got %q, nobody's %q", got, loose)
		}
	})
}

func TestChangesAreTold(t *testing.T) {
	both(t, func(t *testing.T, era string) {
		lists, uris := map[string]int{}, map[string]int{}
		c, s := open(t, Options{Events: Events{Changed: func(l string) { lists[l]++ }, Updated: func(u string) { uris[u]++ }}}, era)
		defer c.Close()
		if err := c.Watch(t.Context(), []string{"test://one", "test://two"}); err != nil {
			t.Fatal(err)
		}
		call := func(name string) {
			if _, err := c.Call(t.Context(), tool(name, `{}`)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		call("change")
		call("touch")
		if lists["tools"] != 5 || uris["test://one"] != 1 {
			t.Errorf("told of lists %v, resources %v", lists, uris)
		}
		if err := c.Watch(t.Context(), []string{"test://two"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		call("touch")
		if uris["test://one"] != 1 {
			t.Errorf("told of %v after it was let go", uris)
		}
		methods := s.last().methods()
		if era == "legacy" && (strings.Count(methods, "resources/subscribe") != 2 || strings.Count(methods, "resources/unsubscribe") != 1) {
			t.Errorf("sent %q", methods)
		}
		if era == "modern" && (strings.Count(methods, "subscriptions/listen") != 2 || strings.Count(methods, "notifications/cancelled") != 1) {
			t.Errorf("sent %q", methods)
		}
	})
}

func TestASubscriptionThatEndsIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := 0
		c, s := open(t, Options{Events: Events{Changed: func(string) { changed++ }}}, "modern")
		defer c.Close()
		if err := c.Watch(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		c.Receive(message.Message{Kind: message.Notification, Method: "notifications/cancelled", Params: []byte(`{"requestId":2}`)}, "")
		time.Sleep(againFirst + time.Millisecond)
		synctest.Wait()
		if n := strings.Count(s.last().methods(), "subscriptions/listen"); n != 2 || changed != 3 {
			t.Errorf("%d subscriptions, %d changes told; want 2 and 3, since some may have been missed", n, changed)
		}
	})
}

func TestOnlySoManyCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, Options{}, "legacy")
		defer c.Close()
		errs := make(chan error, MaxCalls)
		for range MaxCalls {
			go func() {
				_, err := c.Call(t.Context(), tool("hang", `{}`))
				errs <- err
			}()
		}
		synctest.Wait()
		if _, err := c.Call(t.Context(), tool("echo", `{}`)); err == nil || !strings.Contains(err.Error(), "256 calls") {
			t.Errorf("one more: %v", err)
		}
		for range MaxCalls {
			if err := <-errs; !errors.Is(err, ErrLate) {
				t.Fatal(err)
			}
		}
		if got := echo(t, c, "x"); got != "x" {
			t.Errorf("afterwards: %q", got)
		}
	})
}
