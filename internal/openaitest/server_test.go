package openaitest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// post sends one request and returns status and body.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const (
	input = `{"cmd":"echo \"héllo\" \ud83d\ude00 > /a/b","n":[1,{"x":null}]}`
	free  = "*** Begin Patch\n*** Add File: a wörd\n+x\n*** End Patch\n"
	offer = `{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command"},{"type":"web_search"},{"type":"namespace","name":"ns"}],"input":`
)

func script() Script {
	second := Call("call_2", "spawn", map[string]string{"message": "x"})
	second.Space = "ns"
	return Turns([]Item{Say("wörds of some length"), Call("call_1", "exec_command", input), Free("call_p", "apply_patch", free)}, []Item{second})
}

func TestAStreamedCallComesInPiecesThatJoinToItsArguments(t *testing.T) {
	s := New(t, script())
	_, body := post(t, s.URL+"/responses", offer+`"go"}`)
	joined := map[string]string{}
	whole := map[string]string{}
	var kinds []string
	for sc := bufio.NewScanner(strings.NewReader(body)); sc.Scan(); {
		data, found := strings.CutPrefix(sc.Text(), "data: ")
		if !found {
			continue
		}
		var ev struct {
			Type  string
			Delta string
			Item  struct {
				Type, Name, Arguments, Input string
				CallID                       string `json:"call_id"`
				Content                      []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		kinds = append(kinds, ev.Type)
		switch {
		case strings.HasSuffix(ev.Type, ".delta"):
			if joined[ev.Type] += ev.Delta; len(ev.Delta) > 2*chunk {
				t.Errorf("a delta of %d bytes", len(ev.Delta))
			}
		case ev.Type == "response.output_item.done":
			text := ev.Item.Arguments + ev.Item.Input
			for _, c := range ev.Item.Content {
				text += c.Text
			}
			whole[ev.Item.Type+" "+ev.Item.Name+" "+ev.Item.CallID] = text
		}
	}
	if kinds[0] != "response.created" || kinds[len(kinds)-1] != "response.completed" {
		t.Errorf("events = %v", kinds)
	}
	for kind, want := range map[string]string{
		"response.output_text.delta": "wörds of some length", "response.function_call_arguments.delta": input, "response.custom_tool_call_input.delta": free,
	} {
		if joined[kind] != want {
			t.Errorf("%s join to %q, want %q", kind, joined[kind], want)
		}
	}
	for item, want := range map[string]string{
		"message  ": "wörds of some length", "function_call exec_command call_1": input, "custom_tool_call apply_patch call_p": free,
	} {
		if whole[item] != want {
			t.Errorf("%s is %q, want %q", item, whole[item], want)
		}
	}
}

func TestTheScriptGoesOnWhenEveryCallHasAnOutput(t *testing.T) {
	s := New(t, script())
	half := `[{"type":"function_call_output","call_id":"call_1","output":"first"}`
	both := half + `,{"type":"custom_tool_call_output","call_id":"call_p","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`
	all := both + `,{"type":"function_call_output","call_id":"call_2","output":{"content":"c","success":true}}`
	for _, tt := range []struct{ in, says string }{
		{half + "]", `"call_id":"call_1"`}, {both + "]", `"namespace":"ns"`}, {all + "]", `"done"`}, {`[]`, `"call_id":"call_p"`},
	} {
		if _, body := post(t, s.URL+"/responses", offer+tt.in+"}"); !strings.Contains(body, tt.says) {
			t.Errorf("to %s the model says %s, want %s", tt.in, body, tt.says)
		}
	}
	for id, want := range map[string]string{"call_1": "first", "call_p": "a\nb", "call_2": "c"} {
		if got, ok := s.Told(id); !ok || got != want {
			t.Errorf("the model was told %q (%v) of %s, want %q", got, ok, id, want)
		}
	}
	if got, ok := s.Told("call_9"); ok {
		t.Errorf("the model was told %q of a call that it never made", got)
	}
	if got, want := s.Requests()[0].Tools, []string{"exec_command", "web_search", "ns"}; !slices.Equal(got, want) {
		t.Errorf("tools = %q, want %q", got, want)
	}
}

func TestWhatIsNoRequestOfTheConversationNeverReachesTheScript(t *testing.T) {
	s := New(t, func(*Request) []Item { t.Error("the script was asked"); return nil })
	if status, body := post(t, s.URL+"/responses", `{"model":"m","input":"title?"}`); status != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("a request without tools: %d %s", status, body)
	}
	if status, _ := post(t, s.URL+"/responses", `{"input":`); status != 400 {
		t.Errorf("a broken request: %d", status)
	}
	if status, _ := post(t, s.URL+"/other", `{}`); status != 404 {
		t.Errorf("another path: %d", status)
	}
	resp, err := http.Get(s.URL + "/models")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := s.Other(); resp.StatusCode != 200 || len(got) != 3 {
		t.Errorf("models: %d; aside: %q", resp.StatusCode, got)
	}
}
