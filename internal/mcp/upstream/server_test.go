package upstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// opener gives Server.Use its way to open a connection.
func (s *starts) opener() func(context.Context) (*Conn, error) {
	return func(ctx context.Context) (*Conn, error) {
		return Open(ctx, Options{Name: "t", Dial: s.dial, Only: EraLegacy})
	}
}

func TestAServerIsStartedOnceForAllAndRestsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starts{modes: []string{"legacy"}}
		srv := &Server{Name: "t"}
		defer srv.Close()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				c, release, err := srv.Use(t.Context(), s.opener())
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				if got := echo(t, c, "x"); got != "x" {
					t.Errorf("echo: %q", got)
				}
			})
		}
		all.Wait()
		if len(s.made) != 1 {
			t.Errorf("started %d times for 20 users", len(s.made))
		}
		time.Sleep(DefaultIdle - time.Second)
		if srv.Running() == nil {
			t.Error("stopped before its time")
		}
		_, release, err := srv.Use(t.Context(), s.opener())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * DefaultIdle)
		if srv.Running() == nil {
			t.Error("stopped while somebody uses it")
		}
		release()
		release() // a second time changes nothing
		time.Sleep(DefaultIdle + time.Second)
		synctest.Wait()
		if srv.Running() != nil {
			t.Error("still running after its time")
		}
		if _, release, err = srv.Use(t.Context(), s.opener()); err != nil || len(s.made) != 2 {
			t.Errorf("used again: %v, %d starts", err, len(s.made))
		}
		release()
	})
}

func TestAServerThatKeepsFailingIsTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starts{modes: []string{"refused"}}
		srv := &Server{Name: "t"}
		defer srv.Close()
		began := time.Now()
		tries := 0
		open := func(ctx context.Context) (*Conn, error) { tries++; return s.opener()(ctx) }
		for time.Since(began) < 10*time.Minute {
			_, _, err := srv.Use(t.Context(), open)
			if err == nil || !strings.Contains(err.Error(), "no such program") {
				t.Fatalf("%v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if tries < 10 || tries > 20 {
			t.Errorf("tried %d times in ten minutes", tries)
		}
	})
}

func TestAServerThatCrashesIsStartedAgainAndTheCallIsNotMadeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starts{modes: []string{"legacy"}}
		srv := &Server{Name: "t"}
		defer srv.Close()
		use := func(name string) (string, error) {
			c, release, err := srv.Use(t.Context(), s.opener())
			if err != nil {
				return "", err
			}
			defer release()
			result, err := c.Call(t.Context(), tool(name, `{}`))
			if err != nil {
				return "", err
			}
			return said(t, result, nil), nil
		}
		var gone *Gone
		if _, err := use("crash"); !errors.As(err, &gone) {
			t.Fatalf("crash: %v", err)
		}
		if got, err := use("count"); err != nil || got != "1" || len(s.made) != 2 {
			t.Errorf("after one crash: %q, %v, %d starts", got, err, len(s.made))
		}
		use("crash")
		if _, err := use("count"); err == nil || !strings.Contains(err.Error(), "failed 2 times in a row") {
			t.Errorf("after two crashes: %v", err)
		}
		time.Sleep(backoffMin)
		if got, err := use("count"); err != nil || got != "1" {
			t.Errorf("after its time: %q, %v", got, err)
		}
		srv.Works()
		use("crash")
		if _, err := use("count"); err != nil {
			t.Errorf("after it worked, and one crash: %v", err)
		}
	})
}

func TestOneWhoStopsWaitingDoesNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starts{modes: []string{"legacy,silent"}}
		srv := &Server{Name: "t"}
		defer srv.Close()
		slow := func(ctx context.Context) (*Conn, error) { return Open(ctx, Options{Name: "t", Dial: s.dial}) }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		go func() {
			if _, _, err := srv.Use(ctx, slow); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who left: %v", err)
			}
		}()
		synctest.Wait()
		c, release, err := srv.Use(t.Context(), slow)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if got := echo(t, c, "x"); got != "x" {
			t.Errorf("echo: %q", got)
		}
	})
}

func TestAClosedServerIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &starts{modes: []string{"legacy,silent"}}
		srv := &Server{Name: "t"}
		go func() {
			time.Sleep(time.Second)
			srv.Close() // while it is being opened
		}()
		if _, _, err := srv.Use(t.Context(), func(ctx context.Context) (*Conn, error) {
			return Open(ctx, Options{Name: "t", Dial: s.dial})
		}); err == nil || !strings.Contains(err.Error(), "session has ended") {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		for _, m := range s.made {
			select {
			case <-m.done:
			default:
				t.Errorf("a server was left running (%s)", m.methods())
			}
		}
	})
}
