package message

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeReadsTheEnvelopeAndKeepsTheRestAsItCame(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Message
	}{
		{"request", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{ "name" : "a", "n":1.50 }}`,
			Message{Kind: Request, ID: "7", Method: "tools/call", Params: []byte(`{ "name" : "a", "n":1.50 }`)}},
		{"id of text, spelled with an escape", `{"method":"ping","id":"\u0061","jsonrpc":"2.0"}`,
			Message{Kind: Request, ID: `"\u0061"`, Method: "ping"}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			Message{Kind: Notification, Method: "notifications/initialized"}},
		{"result", `{"jsonrpc":"2.0","id":-3,"result":{"x":"` + "\u2028" + `"}}`,
			Message{Kind: Response, ID: "-3", Result: []byte(`{"x":"` + "\u2028" + `"}`)}},
		{"error", `{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no","data":[1]}}`,
			Message{Kind: Response, ID: `"x"`, Error: &Error{Code: -32601, Message: "no", Data: []byte(`[1]`)}}},
		{"error about an unreadable message", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
			Message{Kind: Response, Error: &Error{Code: -32700, Message: "no"}}},
		{"error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`,
			Message{Kind: Response, Error: &Error{Code: -32700, Message: "no"}}},
		{"half of a pair in a result, as programs cut text", `{"jsonrpc":"2.0","id":1,"result":{"t":"\ud83d"}}`,
			Message{Kind: Response, ID: "1", Result: []byte(`{"t":"\ud83d"}`)}},
	} {
		got, err := Decode([]byte(c.line))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

func TestDecodeRefusesWhatCouldBeReadInTwoWays(t *testing.T) {
	for _, c := range []struct{ name, line, why, id string }{
		{"another case", `{"jsonrpc":"2.0","id":1,"Method":"x","method":"y"}`, "unknown member", "1"},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, "twice", "1"},
		{"a name twice, once in escapes", `{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}`, "twice", "1"},
		{"a name twice deep in params", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"arguments":{"p":1,"p":2}}}`, "twice", "1"},
		{"an unknown member", `{"jsonrpc":"2.0","id":1,"method":"a","extra":1}`, "unknown member", "1"},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"a"}`, "jsonrpc", "1"},
		{"no version", `{"id":1,"method":"a"}`, "jsonrpc", "1"},
		{"a fraction as id", `{"jsonrpc":"2.0","id":1.5,"method":"a"}`, "id", ""},
		{"an exponent as id", `{"jsonrpc":"2.0","id":1e3,"method":"a"}`, "id", ""},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"a"}`, "id", ""},
		{"params that is a list", `{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}`, "params", "1"},
		{"a result that is a text", `{"jsonrpc":"2.0","id":1,"result":"x"}`, "result", "1"},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, "result and an error", "1"},
		{"result and method", `{"jsonrpc":"2.0","id":1,"result":{},"method":"a"}`, "at once", "1"},
		{"result without an id", `{"jsonrpc":"2.0","result":{}}`, "no id", ""},
		{"nothing", `{"jsonrpc":"2.0","id":1}`, "no method", "1"},
		{"params alone", `{"jsonrpc":"2.0","id":1,"params":{},"result":{}}`, "no method", "1"},
		{"an error that is none", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, "error", "1"},
		{"a method that is no text", `{"jsonrpc":"2.0","id":1,"method":1}`, "method", "1"},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, "levels", ""},
	} {
		_, err := Decode([]byte(c.line))
		var f *Fault
		if !errors.As(err, &f) || !strings.Contains(f.Why, c.why) || string(f.ID) != c.id {
			t.Errorf("%s: %v, want a fault that says %q about id %q", c.name, err, c.why, c.id)
		}
	}
	for _, line := range []string{``, `starting up...`, `[{"jsonrpc":"2.0","id":1,"method":"a"}]`, `{"jsonrpc":"2.0","id":1,"method":"a"} x`,
		`{"jsonrpc":"2.0"`, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `null`, `{'a':1}`} {
		if _, err := Decode([]byte(line)); !errors.Is(err, ErrNoise) {
			t.Errorf("%q: %v, want noise", line, err)
		}
	}
}

func TestIDsMeanTheSameOrNot(t *testing.T) {
	if a, b := ID(`"a"`).Key(), ID(`"\u0061"`).Key(); a != b {
		t.Errorf("two spellings of one text have keys %q and %q", a, b)
	}
	if a, b := ID(`"1"`).Key(), ID(`1`).Key(); a == b {
		t.Errorf("a text and a number share the key %q", a)
	}
}

func TestLinesSkipsBlankOnesAndBoundsTheRest(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	l := NewLines(strings.NewReader("one\r\n\n  \r\n"+long+"\ntwo\n"+long[:50]+"\nthree"), 60)
	for _, want := range []string{"one", "!", "two", long[:50], "three"} {
		line, err := l.Next()
		if want == "!" {
			if !errors.Is(err, ErrLong) || line != nil {
				t.Errorf("the long line: %d bytes, %v", len(line), err)
			}
			continue
		}
		if err != nil || string(line) != want {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
	if _, err := l.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestALineOfManyBuffersArrivesWhole(t *testing.T) {
	long := strings.Repeat("0123456789", 30_000)
	l := NewLines(strings.NewReader(long+"\n"+long+"y\n"), len(long))
	if line, err := l.Next(); err != nil || string(line) != long {
		t.Errorf("a line at the bound: %d bytes, %v", len(line), err)
	}
	if _, err := l.Next(); !errors.Is(err, ErrLong) {
		t.Errorf("a line one byte above the bound: %v", err)
	}
}

func TestALongLineIsToldBeforeItEnds(t *testing.T) {
	r, w := io.Pipe()
	l := NewLines(r, 1<<10)
	go func() {
		w.Write([]byte(strings.Repeat("x", 256<<10))) // and no end
	}()
	if _, err := l.Next(); !errors.Is(err, ErrLong) {
		t.Errorf("while the line goes on: %v", err)
	}
	go w.Write([]byte("x\nnext\n"))
	if line, err := l.Next(); err != nil || string(line) != "next" {
		t.Errorf("after it: %q, %v", line, err)
	}
}

func TestRewriteTouchesTheProtocolsKeysAndNothingElse(t *testing.T) {
	in := `{ "name":"x" ,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"00-1","progressToken":5,` +
		`"com.example/k": {"a" : 1e2} ,"dev.MCP/z":1,"com.example.mcp/y":2},"arguments":{"n":1.0,"s":"\u00e9"}}`
	got, err := Rewrite([]byte(in), Own(MetaProgress, []byte("9")), OwnText(MetaVersion, Modern))
	want := `{"name":"x","_meta":{"traceparent":"00-1","com.example/k":{"a" : 1e2},"com.example.mcp/y":2,"progressToken":9,` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"arguments":{"n":1.0,"s":"\u00e9"}}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	for in, want := range map[string]string{
		`{"a":1,"_meta":{"progressToken":5}}`: `{"a":1}`,
		`{"_meta":{}}`:                        `{}`,
		`{}`:                                  `{}`,
	} {
		if got, err := Rewrite([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v, want %s", in, got, err, want)
		}
	}
	if got, err := Rewrite(nil, OwnText(MetaVersion, Modern)); err != nil || string(got) != `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}` {
		t.Errorf("of nothing: %s, %v", got, err)
	}
	for _, bad := range []string{`{"_meta":[]}`, `{"_meta":{"a":1,"a":2}}`, `[]`, `{`} {
		if got, err := Rewrite([]byte(bad)); err == nil {
			t.Errorf("%s gives %s, want an error", bad, got)
		}
	}
	if _, err := Rewrite([]byte(`{}`), Own("traceparent", []byte(`"x"`))); err == nil {
		t.Error("a key that is not the protocol's was written anew")
	}
}

func TestWhatIsWrittenIsOneLineAndReadsBack(t *testing.T) {
	params := []byte("{\n  \"a\": \"x\\n\"\r\n}")
	for _, m := range []Message{
		{Kind: Request, ID: `"a\n"`, Method: "x/\"y\"\n", Params: params},
		{Kind: Notification, Method: "n"},
		{Kind: Response, ID: "1", Result: params},
		{Kind: Response, ID: "1", Error: &Error{Code: -1, Message: "m\n\xff", Data: params}},
		{Kind: Response, Error: &Error{Code: -32700, Message: ""}},
	} {
		b := m.Append(nil)
		if strings.ContainsAny(string(b), "\r\n") {
			t.Errorf("%q is more than one line", b)
		}
		got, err := Decode(b)
		if err != nil || got.Kind != m.Kind || got.ID != m.ID || got.Method != m.Method {
			t.Errorf("%s reads back as %+v, %v", b, got, err)
		}
	}
}

func TestSetReplacesInPlaceOrAppends(t *testing.T) {
	o, err := Members([]byte(`{"name":"server__tool","arguments":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := string(o.Set(OwnText("name", "tool")).Set(Own("x", []byte("1"))).Bytes())
	if want := `{"name":"tool","arguments":{},"x":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestElementsKeepsEachAsItStood(t *testing.T) {
	got, err := Elements([]byte(`[ {"a" : 1},2.0 , "x" ]`))
	if err != nil || len(got) != 3 || string(got[0]) != `{"a" : 1}` || string(got[1]) != "2.0" || string(got[2]) != `"x"` {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{`{}`, `[1] 2`, `[`, ``} {
		if _, err := Elements([]byte(bad)); err == nil {
			t.Errorf("%q is a list", bad)
		}
	}
}

func TestStringsChangesTextsAndNothingElse(t *testing.T) {
	change := func(s string) string { return strings.ReplaceAll(s, "secret", "*") }
	for in, want := range map[string]string{
		`{"secret": "a secret", "b":[1.0, "x\"secret\\", {"c" :"secret"}]}`: `{"*": "a *", "b":[1.0, "x\"*\\", {"c" :"*"}]}`,
		`["\u0073ecret","none\u00e9"]`:                                      `["*","none\u00e9"]`,
		`{"a":"b"}`:                                                         `{"a":"b"}`,
		`"secret"`:                                                          `"*"`,
		`no json secret`:                                                    `no json secret`,
	} {
		if got := string(Strings([]byte(in), change)); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
