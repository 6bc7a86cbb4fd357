package connect

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/tool"
)

func TestTheEffectIsTheOneConnection(t *testing.T) {
	c := New(&netguard.Guard{Own: func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("203.1.2.3")}, nil }})
	for _, one := range []struct{ args, want string }{ // want: the effect, then why it is closed; or the refusal after a !
		{`{"host":"a.example","port":443}`, "connect a.example:443"},
		{`{"host":"a.example","port":443,"own":true}`, "connect a.example:443 own"},
		{`{"host":"93.184.215.14","port":443}`, "connect 93.184.215.14:443"},
		{`{"host":"127.0.0.1","port":3000}`, "connect 127.0.0.1:3000 this machine's loopback"},
		{`{"host":"203.1.2.3","port":80}`, "connect 203.1.2.3:80 an address of this machine"},
		{`{"host":"169.254.169.254","port":80}`, "connect 169.254.169.254:80 where a cloud"},
		{`{"host":"A.example","port":443}`, "!is written a.example"},
		{`{"host":"127.1","port":443}`, "!is written 127.0.0.1"},
		{`{"host":"::ffff:127.0.0.1","port":443}`, "!is written 127.0.0.1"},
		{`{"host":"a.example.","port":443}`, "!is written a.example"},
		{`{"host":"a\u0000b","port":443}`, "!no host name"},
		{`{"host":"","port":443}`, "!no host"},
		{`{"host":"a.example","port":0}`, "!port 0"},
		{`{"host":"a.example","port":443,"fault":"the server name is another"}`, "!the server name is another"},
		{`{"host":1}`, "!read the arguments"},
	} {
		effects, err := c.Effects([]byte(one.args), tool.Place{})
		got := ""
		if err != nil {
			got = "!" + err.Error()
		} else {
			e := effects[0]
			if got = e.String(); e.Dial.Own {
				got += " own"
			}
			if e.Dial.Closed != "" {
				got += " " + e.Dial.Closed
			}
		}
		refused := strings.HasPrefix(one.want, "!")
		if refused != (err != nil) || refused && !strings.Contains(got, one.want[1:]) || !refused && !strings.HasPrefix(got, one.want) {
			t.Errorf("%s: %q, want %q", one.args, got, one.want)
		}
	}
}

func TestAWayIsOpenedByItsPermitOnceAndLeadsToItsHostOnly(t *testing.T) {
	var dialled []string
	guard := &netguard.Guard{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			dialled = append(dialled, name)
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		},
		Own:     func() ([]netip.Addr, error) { return nil, nil },
		Connect: func(_ context.Context, to netip.AddrPort) (netguard.Conn, error) { return nil, errors.New(to.String()) },
	}
	c := New(guard)
	permits := permit.NewIssuer(time.Now)
	digest := [32]byte{1}
	call := func() tool.Call {
		return tool.Call{ID: "i", Args: []byte(`{"host":"a.example","port":443}`), Digest: digest, Permit: permits.Mint(digest, time.Minute)}
	}
	if r := c.Run(t.Context(), call()); r.Status != reeve.StatusError || r.Open {
		t.Errorf("nothing was handed over: %+v", r)
	}
	var dial Dial
	forget := c.Give("i", func(d Dial) { dial = d })
	bad := call()
	bad.Digest = [32]byte{2}
	if r := c.Run(t.Context(), bad); r.Status != reeve.StatusDenied || dial != nil {
		t.Errorf("another call's permit: %+v", r)
	}
	forget()
	defer c.Give("i", func(d Dial) { dial = d })()
	if r := c.Run(t.Context(), call()); r.Status != reeve.StatusSuccess || !r.Open || dial == nil {
		t.Fatalf("%+v", r)
	}
	if len(dialled) != 0 {
		t.Errorf("looked up %v before anybody dialled", dialled)
	}
	if _, err := dial(t.Context()); err == nil || !strings.Contains(err.Error(), "93.184.215.14:443") || len(dialled) != 1 {
		t.Errorf("%v after %v", err, dialled)
	}
	if r := c.Run(t.Context(), call()); r.Open {
		t.Errorf("what was handed over is used twice: %+v", r)
	}
}
