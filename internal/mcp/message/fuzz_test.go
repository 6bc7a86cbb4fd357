package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// FuzzDecode: what is taken is a JSON object in which another reader finds the
// same members, and it reads back the same once it is written.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"\ud83d","result":{"a":[{"b":"\u0000"}]}}`,
		`{"jsonrpc":"2.0","error":{"code":-1,"message":"x","data":null,"more":1},"id":null}`,
		`{"jsonrpc":"2.0","\u0069d":1,"method":"a"}`, `{"jsonrpc":"2.0","id":01,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"Id":2,"method":"a"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.Trim(line, " \t\r\n")
		m, err := Decode(line)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) && !errors.Is(err, ErrNoise) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		var other map[string]json.RawMessage
		if err := json.Unmarshal(line, &other); err != nil {
			t.Fatalf("taken, and no JSON: %v", err)
		}
		for name, v := range map[string][]byte{"id": []byte(m.ID), "params": m.Params, "result": m.Result} {
			if v != nil && string(v) != string(bytes.TrimSpace(other[name])) && name != "id" || name == "id" && m.ID != "" && string(other["id"]) != string(m.ID) {
				t.Errorf("%s is %q, another reader finds %q", name, v, other[name])
			}
		}
		for name := range other {
			if name != "jsonrpc" && name != "id" && name != "method" && name != "params" && name != "result" && name != "error" {
				t.Errorf("taken with the member %q", name)
			}
		}
		again, err := Decode(m.Append(nil))
		if err != nil || again.Kind != m.Kind || again.ID != m.ID || again.Method != m.Method || !reflect.DeepEqual(again.Error == nil, m.Error == nil) {
			t.Errorf("%s reads back as %+v, %v", m.Append(nil), again, err)
		}
	})
}

// FuzzLines: every line is a line of the input, none is above the bound, and
// those at or under it all come, in order.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n cccccccccccc\nd"), uint8(4))
	f.Fuzz(func(t *testing.T, in []byte, max uint8) {
		bound := int(max)%40 + 1
		var want, got []string
		for _, line := range strings.Split(string(in), "\n") {
			if len(line) > bound {
				continue
			}
			if line = strings.Trim(line, " \t\r"); line != "" {
				want = append(want, line)
			}
		}
		l := NewLines(bytes.NewReader(in), bound)
		for {
			line, err := l.Next()
			if errors.Is(err, ErrLong) {
				continue
			}
			if err != nil {
				break
			}
			got = append(got, string(line))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// FuzzRewrite: of what was there before, only the protocol's own keys of
// _meta are gone, and what is ours is there.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`{"a":1,"_meta":{"progressToken":1,"io.modelcontextprotocol/x":2,"k":{"l":[1.0]}}}`))
	f.Add([]byte(`{"_meta":{"\u0070rogressToken":1},"\u005fmeta2":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := Rewrite(in, Own(MetaProgress, []byte("77")))
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(in, &before) != nil || json.Unmarshal(out, &after) != nil {
			t.Fatalf("%q gives %q, which is no JSON", in, out)
		}
		var metaBefore, metaAfter map[string]json.RawMessage
		json.Unmarshal(before["_meta"], &metaBefore)
		if err := json.Unmarshal(after["_meta"], &metaAfter); err != nil || string(metaAfter[MetaProgress]) != "77" {
			t.Fatalf("%q has no token of ours", out)
		}
		delete(metaAfter, MetaProgress)
		for k := range metaBefore {
			if Reserved(k) {
				delete(metaBefore, k)
			}
		}
		delete(before, "_meta")
		delete(after, "_meta")
		if !same(before, after) || !same(metaBefore, metaAfter) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

func same(a, b map[string]json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || !bytes.Equal(v, w) {
			return false
		}
	}
	return true
}
