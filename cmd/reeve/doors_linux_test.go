package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reeve-gate/reeve/internal/localsock"
	"github.com/reeve-gate/reeve/internal/wire"
)

// doors are all that the daemon's socket can be asked, and what each takes.
// TestEveryDoorIsPlanted holds the list complete.
var doors = map[string]any{
	"MethodStatus": nil, "MethodPending": nil, "MethodWatch": nil, "MethodTools": nil, "MethodSessions": nil,
	"MethodDown": wire.Down{}, "MethodExec": wire.Exec{}, "MethodExplain": wire.Exec{}, "MethodRun": wire.Run{}, "MethodAttach": wire.Attach{},
	"MethodResume": wire.Resume{}, "MethodStop": wire.Named{}, "MethodRemove": wire.Named{}, "MethodLogs": wire.Logs{}, "MethodDiff": wire.Named{},
	"MethodMerge": wire.Named{}, "MethodDrop": wire.Drop{}, "MethodReview": wire.Review{}, "MethodApply": wire.Apply{}, "MethodHook": wire.Hook{},
	"MethodMCP": wire.MCP{}, "MethodSettle": wire.Settle{}, "MethodRevoke": wire.Settle{}, "MethodSetTool": wire.SetTool{}, "MethodTrust": wire.Trust{},
	"MethodServers": wire.Servers{}, "MethodInspect": wire.Inspect{}, "MethodVault": wire.Vault{}, "MethodRecord": wire.Record{},
}

// methods are the names and values of the socket's methods, as the source has
// them.
func methods(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/wire/wire.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Method") {
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all[v.Names[0].Name] = value
		}
		return true
	})
	return all
}

// TestEveryDoorIsPlanted: whatever the daemon takes a request for has secrets
// planted in it, in the type that its door reads.
func TestEveryDoorIsPlanted(t *testing.T) {
	all := methods(t)
	if len(all) < 25 {
		t.Fatalf("only %d methods were found", len(all))
	}
	for name := range all {
		if _, ok := doors[name]; !ok {
			t.Errorf("nothing is planted in the door of wire.%s: name what it takes in doors", name)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/ingress/api/api.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	reads := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.CaseClause)
		if !ok || len(c.List) != 1 {
			return true
		}
		method, ok := c.List[0].(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(method.Sel.Name, "Method") {
			return true
		}
		reads[method.Sel.Name] = ""
		ast.Inspect(c, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "serve" {
				reads[method.Sel.Name] = call.Args[2].(*ast.FuncLit).Type.Params.List[0].Type.(*ast.SelectorExpr).Sel.Name
			}
			return true
		})
		return true
	})
	for name, params := range doors {
		planted := ""
		if params != nil {
			planted = reflect.TypeOf(params).Name()
		}
		if read, served := reads[name]; !served || read != planted {
			t.Errorf("wire.%s is planted as %q; its door is served: %v, and reads %q", name, planted, served, read)
		}
	}
}

// plantDoors sends a request through every door of the socket, with secrets in
// each of its texts.
func (p *planted) plantDoors(d *desk) {
	p.t.Helper()
	var status struct {
		Build string `json:"build"`
	}
	if err := json.Unmarshal([]byte(d.reeve("status", "--json")), &status); err != nil || status.Build == "" {
		p.t.Fatalf("the daemon does not say what it is: %v", err)
	}
	all := methods(p.t)
	for _, name := range slices.Sorted(mapKeys(doors)) {
		for _, whole := range []bool{true, false} {
			var params any = map[string]string{"text": p.line("the door " + name)}
			if doors[name] != nil && whole {
				v := reflect.New(reflect.TypeOf(doors[name])).Elem()
				p.fill(v, "the door "+name)
				params = v.Interface()
			}
			if name != "MethodDown" || !whole {
				p.send(d, status.Build, all[name], params)
			}
		}
	}
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// fill puts a line with secrets into every text of v.
func (p *planted) fill(v reflect.Value, place string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(p.line(place))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				p.fill(v.Field(i), place+", "+f.Name)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text, _ := json.Marshal(map[string]string{"text": p.line(place)})
			v.SetBytes(text)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		p.fill(v.Index(0), place)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(p.line(place+", a name")).Convert(v.Type().Key()), reflect.ValueOf(p.line(place)).Convert(v.Type().Elem()))
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.New(v.Type().Elem()))
			p.fill(v.Elem(), place)
		}
	}
}

// send makes one request and hears the daemon out, for two seconds at most.
func (p *planted) send(d *desk, build, method string, params any) {
	p.t.Helper()
	body, err := wire.Encode(params)
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	frame, err := wire.Encode(wire.Request{Hello: wire.Hello{Proto: wire.Proto, Build: build}, Method: method, Params: body})
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	conn, err := localsock.Dial(filepath.Join(d.state, wire.ControlSocket), 2*time.Second)
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	if err := conn.Write(frame); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	for {
		b, files, err := conn.Read()
		for _, f := range files {
			f.Close()
		}
		var m wire.Message
		if err != nil || wire.Decode(b, &m) != nil || m.Event == "" {
			return
		}
	}
}
