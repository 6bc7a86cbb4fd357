package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/mcp/catalog"
	"github.com/reeve-gate/reeve/internal/mcp/message"
)

const planted = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

// TestWhatAServerSaysBesideItsResultsHidesNothing: no secret, not in a name
// either, and nothing that a terminal obeys.
func TestWhatAServerSaysBesideItsResultsHidesNothing(t *testing.T) {
	g := newRig(t, "legacy")
	p := g.connect(t, message.Legacy, catalog.Filter{}, `{"elicitation":{"form":{},"url":{}}}`)
	asked := make(chan message.Message, 4)
	p.mu.Lock()
	p.reply = func(m message.Message) message.Message {
		asked <- m
		return message.Message{Kind: message.Response, Result: []byte(`{"action":"cancel"}`)}
	}
	p.mu.Unlock()
	tells := func(method, params string) message.Message {
		p.call("tools/call", fmt.Sprintf(`{"name":"legacy__raw","arguments":{"tell":{"method":%q,"params":%s},"result":{"content":[]}},"_meta":{"progressToken":"mine"}}`, method, params))
		return p.note(method)
	}
	odd := fmt.Sprintf(`{%q:"\u001b[2J%s\u202e"}`, planted, planted)
	p.use("legacy__raw", fmt.Sprintf(`{"ask":{"method":"elicitation/create","params":{"message":"\u001b[2J%s","requestedSchema":{"type":"object","properties":{%q:{"type":"string"}}}}},"result":{"content":[]}}`, planted, planted))
	for what, m := range map[string]message.Message{
		"a log message": tells("notifications/message", `{"level":"error","data":`+odd+`}`),
		"progress":      tells("notifications/progress", `{"progress":1,"message":"\u001b[2J`+planted+`","x":`+odd+`}`),
		"a question":    <-asked,
	} {
		text := string(m.Params)
		if strings.Contains(text, planted) || strings.Contains(text, `\u001b`) || strings.Contains(text, "\u202e") || !strings.Contains(text, `\\x1b[2J`) {
			t.Errorf("%s is %s", what, text)
		}
	}
	p.use("legacy__raw", `{"ask":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"1","message":"x","url":"javascript:alert(1)"}},"result":{"content":[]}}`)
	select {
	case m := <-asked:
		t.Errorf("the client is sent to %s", m.Params)
	default:
	}
}

// TestNoFormOfAResultPassesTheMarksOrTheBound.
func TestNoFormOfAResultPassesTheMarksOrTheBound(t *testing.T) {
	g := newRig(t, "legacy")
	p := g.connect(t, message.Legacy, catalog.Filter{}, `{}`)
	answer := func(what string) string {
		m := p.call("tools/call", `{"name":"legacy__raw","arguments":{`+what+`}}`)
		return string(m.Append(nil))
	}
	for what, text := range map[string]string{
		"structured content alone":  answer(`"result":{"structuredContent":{"a":"obey"}}`),
		"content that is no list":   answer(`"result":{"content":"obey"}`),
		"content that is an object": answer(`"result":{"content":{"text":"obey"}}`),
		"an error":                  answer(`"error":{"code":-32000,"message":"obey"}`),
	} {
		if !strings.Contains(text, "[untrusted ") || !strings.Contains(text, "[end of untrusted ") || !strings.Contains(text, "obey") {
			t.Errorf("%s comes as %s", what, text)
		}
	}
	long := strings.Repeat("x", 200_000)
	for what, text := range map[string]string{
		"structured content": answer(`"result":{"content":[],"structuredContent":{"a":"` + long + `"}}`),
		"an error":           answer(`"error":{"code":-32000,"message":"` + long + `"}`),
		"an error's data":    answer(`"error":{"code":-32000,"message":"m","data":"` + long + `"}`),
	} {
		if len(text) > 100_000 {
			t.Errorf("%s: %d bytes are passed on", what, len(text))
		}
	}
	if text := answer(`"result":{"content":[],"structuredContent":{"a":"` + long + `"}}`); !strings.Contains(text, "reeve__read_result") {
		t.Errorf("what was too long cannot be read on: %s", text)
	}
}

// TestAClientOfOneServerReadsOnAndReachesNothingHeld.
func TestAClientOfOneServerReadsOnAndReachesNothingHeld(t *testing.T) {
	g := newRig(t, "legacy")
	g.held["legacy test://two"] = "it orders the model about"
	p := g.connect(t, message.Legacy, catalog.Filter{Alone: "legacy"}, `{}`)
	if m := p.call("resources/read", `{"uri":"test://one"}`); m.Error != nil {
		t.Errorf("a resource that is shown: %v", m.Error)
	}
	if m := p.call("resources/read", `{"uri":"test://two"}`); m.Error == nil || !strings.Contains(m.Error.Message, "held back") {
		t.Errorf("a resource that is held: %s", m.Append(nil))
	}
	if list := string(object(t, p.call("tools/list", `{}`)).Bytes()); strings.Contains(list, "reeve__") {
		t.Errorf("before anything is kept the list is %s", list)
	}
	note := string(p.call("tools/call", `{"name":"big","arguments":{"bytes":250000}}`).Result)
	p.note("notifications/tools/list_changed")
	if list := string(object(t, p.call("tools/list", `{}`)).Bytes()); !strings.Contains(list, "reeve__read_result") {
		t.Errorf("what reads on is not in the list: %s", list)
	}
	_, rest, _ := strings.Cut(note, `{\"id\":\"`)
	id, _, _ := strings.Cut(rest, `\"`)
	if part := p.use("reeve__read_result", fmt.Sprintf(`{"id":%q,"offset":249000}`, id)); len(part) != 1000 {
		t.Errorf("the rest is %q", part)
	}
}

// TestACancellationRightBehindItsRequestIsHeard: the request may not have begun.
func TestACancellationRightBehindItsRequestIsHeard(t *testing.T) {
	g := newRig(t, "legacy")
	p := g.connect(t, message.Legacy, catalog.Filter{}, `{}`)
	p.use("legacy__echo", `{"text":"x"}`)
	for i := range 50 {
		id := fmt.Sprintf(`"c%d"`, i)
		p.raw(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"legacy__hang","arguments":{}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	}
	p.in.Close()
	select { // a call that goes on holds the conversation up to its time-out
	case err := <-p.ended:
		p.ended <- err
	case <-time.After(4 * time.Second):
		t.Error("cancelled calls go on")
	}
}

// TestACallIsOnRecordUnderItsOwnClientsName, where several share a conversation.
func TestACallIsOnRecordUnderItsOwnClientsName(t *testing.T) {
	g := newRig(t, "legacy")
	p := g.connect(t, message.Modern, catalog.Filter{}, `{}`)
	for meta, want := range map[string]string{`{"io.modelcontextprotocol/clientInfo":{"name":"one","version":"1"}}`: "mcp:one", `{}`: "mcp:client"} {
		p.call("tools/list", `{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"other","version":"1"}}}`)
		p.call("tools/call", `{"name":"legacy__echo","arguments":{},"_meta":`+meta+`}`)
		if inv := g.gate.last(); string(inv.Actor) != want {
			t.Errorf("%s is on record as %s, want %s", meta, inv.Actor, want)
		}
	}
}

// TestAServerThatAlwaysChangesIsAskedWithPauses and its client is not told of
// each.
func TestAServerThatAlwaysChangesIsAskedWithPauses(t *testing.T) {
	g := newRig(t, "legacy")
	p := g.connect(t, message.Legacy, catalog.Filter{}, `{}`)
	p.use("legacy__echo", `{"text":"x"}`)
	before := strings.Count(g.starts["legacy"].Methods(), "tools/list")
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		p.use("legacy__change", `{}`)
	}
	if n := strings.Count(g.starts["legacy"].Methods(), "tools/list") - before; n > 8 { // two pages each
		t.Errorf("it was asked for %d pages of its list in a second", n)
	}
}
