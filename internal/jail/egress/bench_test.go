package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// open is a gate that allows everything and leads to one place.
type open struct{ to string }

func (o open) Allow(context.Context, Asked) (Pass, error) { return o, nil }
func (o open) Fault(context.Context, Asked, string)       {}
func (o open) Named() bool                                { return true }
func (o open) Holds(context.Context) error                { return nil }
func (o open) Done(sent, received int64)                  {}
func (o open) Dial(ctx context.Context) (*net.TCPConn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.to)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

func benchServer(b *testing.B, to string) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	go (&Server{Gate: open{to}, Limits: Usual()}).Serve(ctx, l)
	return l.Addr().String()
}

const gib = 1 << 30

// BenchmarkBody fetches a body of 1 GiB with curl from a server that sends a
// file, through a tunnel of the proxy and directly over loopback, in turns.
// Bound: 70 % of direct.
func BenchmarkBody(b *testing.B) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		b.Skip("curl is not installed")
	}
	file := filepath.Join(b.TempDir(), "body")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Truncate(file, gib); err != nil {
		b.Fatal(err)
	}
	to := origin(b, func(c *net.TCPConn, r *bufio.Reader) {
		if _, err := readHead(r, 1<<16); err != nil {
			return
		}
		f, err := os.Open(file)
		if err != nil {
			return
		}
		defer f.Close()
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", gib)
		io.Copy(c, f)
	})
	addr := benchServer(b, to)
	fetch := func(args ...string) time.Duration {
		out, err := exec.Command(curl, append([]string{"-s", "-o", "/dev/null", "-w", "%{time_total} %{size_download}"}, args...)...).Output()
		var seconds float64
		var size int
		if _, serr := fmt.Sscan(string(out), &seconds, &size); err != nil || serr != nil || size != gib {
			b.Fatalf("curl: %v, %q", err, out)
		}
		return time.Duration(seconds * float64(time.Second))
	}
	var ours, direct []time.Duration
	for b.Loop() {
		direct = append(direct, fetch("http://"+to+"/"))
		ours = append(ours, fetch("-p", "-x", "http://"+addr, "http://"+to+"/"))
	}
	report(b, ours, direct)
}

func report(b *testing.B, ours, direct []time.Duration) {
	slices.Sort(ours)
	slices.Sort(direct)
	o, d := ours[len(ours)/2], direct[len(direct)/2]
	b.ReportMetric(gib/o.Seconds()/1e6, "proxy-MB/s")
	b.ReportMetric(gib/d.Seconds()/1e6, "direct-MB/s")
	b.ReportMetric(100*float64(d)/float64(o), "%-of-direct")
}

// BenchmarkStream is the same between two ends that do nothing but write and
// read. Its ratio falls with the number of processors: directly two are busy,
// through the proxy three.
func BenchmarkStream(b *testing.B) {
	block := make([]byte, 256<<10)
	to := origin(b, func(c *net.TCPConn, r *bufio.Reader) {
		if _, err := r.ReadByte(); err != nil {
			return
		}
		for range gib / len(block) {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	})
	addr := benchServer(b, to)
	in := make([]byte, 256<<10)
	read := func(c *net.TCPConn) time.Duration {
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Minute))
		begin := time.Now()
		io.WriteString(c, "x")
		n := 0
		for {
			m, err := c.Read(in)
			if n += m; err != nil {
				break
			}
		}
		if n != gib {
			b.Fatalf("%d bytes came", n)
		}
		return time.Since(begin)
	}
	var ours, direct []time.Duration
	for b.Loop() {
		direct = append(direct, read(dial(b, to)))
		p, _ := tunnel(b, addr, "a.example:443")
		ours = append(ours, read(p))
	}
	report(b, ours, direct)
}

// BenchmarkConnect opens a tunnel through the proxy, which decides nothing here.
func BenchmarkConnect(b *testing.B) {
	to := origin(b, func(c *net.TCPConn, r *bufio.Reader) { r.ReadByte() })
	addr := benchServer(b, to)
	for b.Loop() {
		c, _ := tunnel(b, addr, "a.example:443")
		fmt.Fprint(c, "x")
		c.Close()
	}
}
