package timely

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reeve-gate/reeve/internal/redact"
)

// shown is what came out, and when.
type shown struct {
	mu    sync.Mutex
	text  strings.Builder
	begun time.Time
	at    []time.Duration // of each byte
	told  int
}

func (s *shown) Write(p []byte) (int, error) {
	for range p {
		s.at = append(s.at, time.Since(s.begun))
	}
	return s.text.Write(p)
}

func (s *shown) so() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func writer(r *redact.Redactor) (*shown, func(string)) {
	s := &shown{begun: time.Now()}
	w := New(r.Writer(s), &s.mu, func() { s.told++ })
	return s, func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if text == "" {
			w.Close()
			return
		}
		io.WriteString(w, text)
	}
}

// TestNothingIsBehindForLongerThanTheLimit: each byte of a text in which
// nothing is secret is out in time, however it comes.
func TestNothingIsBehindForLongerThanTheLimit(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond, Limit, time.Second} {
		for _, text := range []string{"Continue? [y/N] ", "Loading", "Push", "npm", "a\nb\nxoxb", "[REDAC", "mysql -p", "Password: ", "over the net ", "=-=-=-", "the end of ghp"} {
			synctest.Test(t, func(t *testing.T) {
				s, write := writer(redact.New())
				var came []time.Duration
				for _, c := range text {
					came = append(came, time.Since(s.begun))
					write(string(c))
					time.Sleep(pause)
				}
				time.Sleep(Limit)
				synctest.Wait()
				if s.so() != text {
					t.Fatalf("%q with pauses of %v: %q is out", text, pause, s.so())
				}
				for i := range s.at {
					if behind := s.at[i] - came[i]; behind > Limit {
						t.Errorf("%q with pauses of %v: byte %d was %v behind", text, pause, i, behind)
					}
				}
			})
		}
	}
}

// TestASecretThatComesSlowlyStaysMasked: whatever the pauses, nothing of it is
// seen, and its mark is when it is whole.
func TestASecretThatComesSlowlyStaysMasked(t *testing.T) {
	r := redact.New()
	if err := r.AddSecret("a-held-value-of-mine"); err != nil {
		t.Fatal(err)
	}
	for _, pause := range []time.Duration{time.Millisecond, 49 * time.Millisecond, 51 * time.Millisecond, time.Minute} {
		for in, want := range map[string]string{
			"PASSWORD=Zq7xK2mP9v\n":                      "PASSWORD=[REDACTED]\n",
			"curl -u me:Zq7xK2mP9v h\n":                  "curl -u me:[REDACTED] h\n",
			"x a-held-value-of-mine y\n":                 "[REDACTED] y\n",
			"ghp_Zq7xK2mP9vZq7xK2mP9vZq7xK2mP9vZq7xK2\n": "[REDACTED:github-token#",
		} {
			synctest.Test(t, func(t *testing.T) {
				s, write := writer(r)
				for _, c := range in {
					write(string(c))
					time.Sleep(pause)
					synctest.Wait()
					if got := s.so(); strings.Contains(got, "Zq7") || strings.Contains(got, "a-he") {
						t.Fatalf("%q with pauses of %v: %q is out", in, pause, got)
					}
				}
				write("")
				if !strings.Contains(s.so(), want) {
					t.Errorf("%q with pauses of %v became %q", in, pause, s.so())
				}
			})
		}
	}
}

// TestWhoLooksOnIsTold: of what went out by the clock, once, and never after
// the end.
func TestWhoLooksOnIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, write := writer(redact.New())
		write("Push")
		time.Sleep(time.Second)
		synctest.Wait()
		if s.told != 1 || s.so() != "Push" {
			t.Errorf("told %d times, %q is out", s.told, s.so())
		}
		write(" and Push")
		write("")
		time.Sleep(time.Second)
		synctest.Wait()
		if s.told != 1 || s.so() != "Push and Push" {
			t.Errorf("told %d times, %q is out", s.told, s.so())
		}
	})
}
