package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/audit"
	"github.com/reeve-gate/reeve/internal/audit/chain"
)

// collected is a collector that can go away and come back at its address.
type collected struct {
	t    *testing.T
	addr string

	mu    sync.Mutex
	rows  map[string][]int64 // by path
	auth  map[string]bool
	text  strings.Builder
	serve *http.Server
}

func newCollected(t *testing.T) *collected {
	c := &collected{t: t, addr: "127.0.0.1:0", rows: map[string][]int64{}, auth: map[string]bool{}}
	c.up()
	t.Cleanup(c.down)
	return c
}

var rowNumber = regexp.MustCompile(`"key":"reeve.row","value":\{"intValue":"(\d+)"\}`)

func (c *collected) up() {
	c.t.Helper()
	l, err := net.Listen("tcp", c.addr)
	if err != nil {
		c.t.Fatal(err)
	}
	c.addr = l.Addr().String()
	c.serve = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return
		}
		body, err := io.ReadAll(z)
		if err != nil || !json.Valid(body) {
			c.t.Errorf("what was sent is no JSON: %v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.auth[r.Header.Get("Authorization")] = true
		c.text.Write(body)
		for _, m := range rowNumber.FindAllSubmatch(body, -1) {
			n, _ := strconv.ParseInt(string(m[1]), 10, 64)
			c.rows[r.URL.Path] = append(c.rows[r.URL.Path], n)
		}
	})}
	go c.serve.Serve(l)
}

func (c *collected) down() { c.serve.Close() }

func (c *collected) got(path string) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rows[path])
}

// await polls until ok, for as long as a slow machine may need.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// recordOf is every row of a record: the numbers of all of them and of those that
// end a call.
func recordOf(t *testing.T, in *rig) (all, ends []int64) {
	t.Helper()
	r, err := audit.OpenRead(filepath.Join(in.home(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = r.After(context.Background(), 0, 1000, func(row chain.Row) error {
		if all = append(all, row.ID); row.Phase == "outcome" {
			ends = append(ends, row.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, ends
}

// TestTheRecordGoesOutWhileItIsWritten: to a collector that needs a token of the
// vault, is away for a while, and misses nothing, though the daemon is killed
// meanwhile; calls go on all the time.
func TestTheRecordGoesOutWhileItIsWritten(t *testing.T) {
	c := newCollected(t)
	in := newRigWith(t, "", fmt.Sprintf("[telemetry]\nendpoint = \"http://%s\"\nheaders.Authorization = \"Bearer ${reeve://otel/token}\"\n", c.addr))
	const secret = "planted-4711-token-of-the-collector"
	if err := os.WriteFile(filepath.Join(in.ws, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func() { t.Helper(); in.run(t, nil, "exec", "read_file", `{"path":"hello.txt"}`) }
	status := func() string { return string(in.run(t, nil, "status")) }
	call()
	await(t, "a token that is not there is a fault", func() bool {
		return strings.Contains(status(), "rows behind") && strings.Contains(status(), "otel/token")
	})
	in.run(t, nil, "vault", "init", "--key-file", filepath.Join(filepath.Dir(in.ws), "home", "key"))
	in.run(t, []byte(secret), "vault", "set", "otel/token")
	everything := func() bool {
		all, ends := recordOf(t, in)
		return slices.Equal(c.got("/v1/logs"), all) && slices.Equal(c.got("/v1/traces"), ends)
	}
	await(t, "everything arrives", everything)
	await(t, "status says so", func() bool { return strings.Contains(status(), "telemetry  up to date") })

	c.down()
	for range 3 {
		call()
	}
	await(t, "status tells of the outage", func() bool {
		return strings.Contains(status(), "6 rows behind, since") && strings.Contains(status(), "refused")
	})
	in.killDaemon(t)
	call()
	c.up()
	await(t, "everything arrives, once", everything)

	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.auth) != 1 || !c.auth["Bearer "+secret] {
		t.Errorf("it was sent with %v", c.auth)
	}
	if text := c.text.String(); strings.Contains(text, "hello.txt") || strings.Contains(text, secret) {
		t.Error("arguments, or the token, were sent")
	}
}

// TestPrometheusScrapesTheDaemon: what was decided, asked and done is there, to
// whoever carries the token.
func TestPrometheusScrapesTheDaemon(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	in := newRigWith(t, "", fmt.Sprintf("[telemetry]\nmetrics = %q\nmetrics_token = \"reeve://prometheus/token\"\n", addr))
	await(t, "an address that is taken is a fault", func() bool {
		return strings.Contains(string(in.run(t, nil, "status")), "metrics are not served")
	})
	l.Close()
	in.run(t, nil, "vault", "init", "--key-file", filepath.Join(filepath.Dir(in.ws), "home", "key"))
	in.run(t, []byte("planted-token-4711"), "vault", "set", "prometheus/token")
	if err := os.WriteFile(filepath.Join(in.ws, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.run(t, nil, "exec", "read_file", `{"path":"hello.txt"}`)
	get := func(token string) (int, string) {
		req, err := http.NewRequest("GET", "http://"+addr+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	await(t, "it is tried again and served", func() bool { code, _ := get("Bearer planted-token-4711"); return code == 200 })
	_, page := get("Bearer planted-token-4711")
	for _, want := range []string{`reeve_calls_total{tool="read_file",tier="read",decision="allow",status="success"} 1`,
		`reeve_call_duration_seconds_count{tier="read"} 1`, "reeve_approvals_waiting 0", "reeve_audit_good 1", `reeve_vault{state="open"} 1`} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("%s is missing:\n%s", want, page)
		}
	}
	if strings.Contains(page, "hello.txt") || strings.Contains(page, in.ws) {
		t.Errorf("the page tells of paths:\n%s", page)
	}
	if code, page := get("Bearer wrong"); code != 401 || strings.Contains(page, "reeve_calls") {
		t.Errorf("with a wrong token: %d\n%s", code, page)
	}
	await(t, "status says where", func() bool {
		return strings.Contains(string(in.run(t, nil, "status")), "metrics at http://"+addr+"/metrics")
	})
}
