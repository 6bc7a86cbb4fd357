package anthropictest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
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

const input = `{"command":"echo \"héllo\" \ud83d\ude00 > /a/b","n":[1,{"x":null}]}`

func script() Script {
	return Turns([]Block{Say("wörds"), Use("toolu_1", "Bash", input)}, []Block{Use("", "Read", map[string]string{"file_path": "/x"})})
}

func TestAStreamedCallComesInPiecesThatJoinToItsArguments(t *testing.T) {
	s := New(t, script())
	_, body := post(t, s.URL+"/v1/messages?beta=true", `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"go"}]}`)
	var kinds []string
	var text, args string
	deltas, reason := 0, ""
	for sc := bufio.NewScanner(strings.NewReader(body)); sc.Scan(); {
		data, found := strings.CutPrefix(sc.Text(), "data: ")
		if !found {
			continue
		}
		var ev struct {
			Type  string
			Delta struct {
				Text        string
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != ev.Type {
			kinds = append(kinds, ev.Type)
		}
		if ev.Delta.PartialJSON != "" {
			deltas++
		}
		text, args, reason = text+ev.Delta.Text, args+ev.Delta.PartialJSON, reason+ev.Delta.StopReason
	}
	want := "message_start content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	if text != "wörds" || args != input || reason != "tool_use" || deltas < 4 {
		t.Errorf("text %q, arguments %q in %d pieces, stop reason %q", text, args, deltas, reason)
	}
}

func TestTheScriptGoesOnWhenTheModelIsToldTheResult(t *testing.T) {
	s := New(t, script())
	told := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}]}]}`
	for i, tt := range []struct{ messages, want string }{
		{`{"role":"user","content":"go"}`, `"name":"Bash"`},
		{`{"role":"user","content":"go"}`, `"name":"Bash"`},
		{`{"role":"user","content":"go"},` + told, `"name":"Read"`},
		{`{"role":"user","content":"go"},` + told + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1_0","content":"fine"}]}`, `"text":"done"`},
	} {
		status, body := post(t, s.URL+"/v1/messages", `{"model":"m","tools":[{"name":"Bash"}],"messages":[`+tt.messages+`]}`)
		if status != 200 || !strings.Contains(body, tt.want) {
			t.Errorf("request %d: %d %s, want %s", i, status, body, tt.want)
		}
	}
	if r, ok := s.ToolResult("toolu_1"); !ok || r != (Result{"no\nway", true}) {
		t.Errorf("result = %+v, %v", r, ok)
	}
	if r, ok := s.ToolResult("toolu_1_0"); !ok || r != (Result{Text: "fine"}) {
		t.Errorf("result = %+v, %v", r, ok)
	}
	if _, ok := s.ToolResult("toolu_9"); ok || len(s.Requests()) != 4 || !s.Requests()[0].Offers("Bash") {
		t.Errorf("requests: %+v", s.Requests())
	}
}

func TestSideRequestsNeverReachTheScript(t *testing.T) {
	s := New(t, func(*Request) []Block { t.Error("the script was asked"); return nil })
	for path, want := range map[string]string{
		"/v1/messages":              `"text":"ok"`,
		"/v1/messages/count_tokens": `"input_tokens"`,
		"/api/event":                `"not_found_error"`,
	} {
		if _, body := post(t, s.URL+path, `{"model":"m","messages":[{"role":"user","content":"title?"}]}`); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if len(s.Other()) != 3 {
		t.Errorf("others: %v", s.Other())
	}
	if status, body := post(t, s.URL+"/v1/messages", `{"messages":7}`); status != 400 || !strings.Contains(body, "invalid_request_error") {
		t.Errorf("a broken request: %d %s", status, body)
	}
}
