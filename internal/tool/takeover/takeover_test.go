package takeover

import (
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/permit"
	"github.com/reeve-gate/reeve/internal/tool"
)

func TestTheEffectsAreThePaths(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"session":"s","write":["a","d/b"],"delete":["c"]}`, "write /w/a,write /w/d/b,delete /w/c"},
		{`{"session":"s","write":["../x"]}`, `!"../x" is no path below the workspace`},
		{`{"session":"s","delete":["/etc/passwd"]}`, "!is no path below the workspace"},
		{`{"session":"s"}`, "!no path is named"},
		{`{"session":1}`, "!read the arguments"},
	} {
		effects, err := New().Effects([]byte(c.args), tool.Place{Workspace: "/w"})
		var got []string
		for i := range effects {
			got = append(got, effects[i].String())
		}
		text := strings.Join(got, ",")
		if err != nil {
			text = "!" + err.Error()
		}
		if why, refused := strings.CutPrefix(c.want, "!"); refused != (err != nil) || refused && !strings.Contains(text, why) || !refused && text != c.want {
			t.Errorf("%s: %q, want %q", c.args, text, c.want)
		}
	}
}

func TestTheHandActsOnceForItsPermit(t *testing.T) {
	acted := 0
	tl := New()
	give := func(id string) func() {
		return tl.Give(id, func() reeve.Result { acted++; return reeve.Result{Status: reeve.StatusSuccess} })
	}
	mint := permit.NewIssuer(time.Now)
	digest := [32]byte{1}
	if r := tl.Run(t.Context(), tool.Call{ID: "a", Digest: digest, Permit: mint.Mint(digest, time.Minute)}); r.Status != reeve.StatusError || acted != 0 {
		t.Errorf("nothing was handed over: %+v", r)
	}
	give("b")
	if r := tl.Run(t.Context(), tool.Call{ID: "b", Digest: digest}); r.Status != reeve.StatusDenied || acted != 0 {
		t.Errorf("without a permit: %+v", r)
	}
	give("c")()
	if r := tl.Run(t.Context(), tool.Call{ID: "c", Digest: digest, Permit: mint.Mint(digest, time.Minute)}); r.Status != reeve.StatusError || acted != 0 {
		t.Errorf("taken back: %+v", r)
	}
	give("d")
	for range 2 {
		tl.Run(t.Context(), tool.Call{ID: "d", Digest: digest, Permit: mint.Mint(digest, time.Minute)})
	}
	if acted != 1 {
		t.Errorf("it acted %d times", acted)
	}
}
