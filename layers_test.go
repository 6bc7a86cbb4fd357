package reeve_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// rooms is the house: every package, what it may do to the world, and which
// packages of ours it may import. A new package gets its row in the same
// change; a row is never widened to make a build pass.
//
// Names stand below internal/, except reeve (the root), client and cmd/reeve.
// Data walks one way: ingress, kernel, policy, approval, tool in its jail,
// redact, audit. What a package may do:
//
//	pure       knows neither clock, disk, network nor process
//	net        opens or accepts connections
//	exec       starts processes, in any of its files
//	exec=FILE  starts processes, in that file only
//	part       a part that its siblings may import; other siblings never meet
//	test       imported by tests only
//	long       one idea that takes more than the usual 1500 lines of code:
//	           a reader of one language, its table, a list of commands
//	all        may import every room: the wiring
const rooms = `
reeve            pure       :

late             pure       :
permit           pure       : reeve
tool                        : reeve permit
policy/tree      pure part  :
policy/suffix    pure part  :
policy/gen                  :
policy/match     pure part  : reeve policy/suffix
policy/rule      pure part  : reeve tool policy/tree policy/match
policy           pure       : late reeve tool policy/tree policy/match policy/rule
shellread/words  pure part  : reeve
shellread/table  pure part  : reeve shellread/words
shellread/script pure part  :
shellread/use    pure part long : late reeve shellread/words shellread/table shellread/script
shellread        pure long  : reeve shellread/words shellread/table shellread/use
flow             pure       : reeve
redact/shape     pure part  :
redact/name      pure part  :
redact/value     pure part  : redact/name redact/shape redact/mark
redact/assign    pure part  : redact/name redact/shape redact/value
redact/mark      pure part  : redact/shape
redact/reason    pure part  : redact/shape
redact/sight     pure part  : redact/name redact/shape redact/assign
redact/sign      pure part  : redact/shape redact/mark
redact/corpus    test       : redact/shape
redact/known     pure part  :
redact/command   pure part  :
redact/visible   pure part  :
redact/document  pure part  : redact/name redact/value redact/command redact/mark
redact           pure       : reeve redact/name redact/shape redact/reason redact/sight redact/sign redact/mark redact/value redact/assign redact/known redact/command redact/document redact/visible
redact/timely               : redact
redact/writeback pure       : redact/mark personal

personal         pure       :

jsonc            pure       :
tomlc            pure       :
scroll                      : redact
durable                     :
cache                       : durable
private                     : config
sqlite                      :
safepath/beneath            :
safepath/repo               :
safepath/gitdir  pure part  :
safepath                    : reeve safepath/repo
view/lines       pure part  :
view                        : reeve durable safepath safepath/beneath
view/shown       part       : safepath safepath/beneath view view/lines
config                      : reeve durable netguard
jail/tree        part       :
jail/gitconf     pure part  :
jail/services    pure part  :
jail/environ     pure part  :
jail/orders      pure part  :
jail/places      pure part  :
jail/configured  part       : jail/tree jail/gitconf
jail                        : reeve permit jail/tree jail/configured jail/environ jail/orders jail/places jail/services

policy/lint      pure       : reeve tool policy policy/match policy/rule
policy/claude    pure       : reeve policy policy/rule policy/tree
policy/load      part        : reeve policy policy/tree
policy/layers               : session policy policy/load policy/rule
policy/look      part       : reeve policy/match
policy/trust                : durable
policy/trial                : reeve tool policy policy/rule policy/look
approval                    : reeve
wire                        : reeve approval
session                     : reeve durable flow
audit/chain      part       : reeve durable sqlite
audit/seal       part       : audit/chain durable
audit                       : reeve durable audit/chain audit/seal
audit/otlp       part       : reeve audit/chain
audit/export     part       : reeve audit audit/chain audit/otlp
audit/tally      part       : reeve audit
audit/metrics    net part   : reeve
audit/sink       net part   : reeve durable audit audit/chain audit/otlp netguard
vault/ref        pure part  : late
vault                       : durable sqlite vault/ref
vault/holder     part       : durable vault vault/ref
vault/warden                : reeve localsock durable tool/secret vault vault/holder vault/ref wire
audit/notary                : reeve audit audit/chain audit/seal durable tool/record vault vault/ref wire
audit/publish    net        : audit/seal durable netguard
kernel                      : reeve permit tool policy policy/look flow approval redact/writeback

jail/seccomp     part       : reeve
jail/pty         part       : reeve
jail/hello       pure part  :
jail/egress      net        : netguard jail/hello
jail/guest       part       : jail jail/tree jail/environ
jail/viewed      part       : reeve jail jail/tree
jail/plant       part       : jail jail/configured jail/tree jail/gitconf jail/viewed
jail/cgroup      part       :
jail/limit       part       : jail jail/cgroup
jail/trusted     part       :
jail/first       net exec   : jail/orders
jail/forge       exec       :
jail/ruleset     part       : reeve jail
jail/cell        exec part  : reeve jail jail/orders jail/seccomp jail/limit jail/group jail/ruleset
jail/bwrap       exec       : reeve permit jail jail/cell jail/orders jail/limit jail/trusted
jail/native      exec       : reeve permit jail jail/cell jail/orders
jail/seatbelt    net exec   : reeve permit jail jail/group jail/trusted jail/viewed
jail/landlock    exec       : reeve permit jail jail/tree jail/seccomp jail/group jail/ruleset jail/viewed
jail/ssh         exec       : late reeve permit jail jail/tree jail/gitconf jail/environ jail/places jail/seccomp jail/group jail/trusted
jail/probe       net exec   : reeve cache permit jail
jail/group       exec part  : reeve jail jail/tree
jail/host        exec       : reeve permit jail jail/group jail/viewed
jail/held        part       : localsock
jail/keeper      exec       : reeve permit jail jail/held jail/pty attach durable localsock redact redact/timely scroll
jail/jailtest    net exec test : reeve permit jail jail/plant jail/probe jail/pty

tool/patch       pure part  :
tool/files                  : reeve tool tool/patch safepath safepath/beneath
tool/connect                : reeve tool netguard
tool/launch      part       : reeve tool jail
tool/takeover    part       : reeve tool
tool/shell                  : reeve tool jail shellread
tool/git                    : reeve tool jail safepath safepath/repo
tool/roster                 : reeve tool
tool/record                 : reeve tool
tool/foreign                : late reeve tool shellread
tool/secret                 : reeve tool
tool/server                 : reeve tool
tool/tooltest    test       : reeve permit tool

mcp/message      pure part  :
mcp/upstream     part       : mcp/message
mcp/pipes        part       : jail mcp/message mcp/upstream
mcp/web          net part   : mcp/message mcp/upstream netguard
mcp/servers      part       : late config durable jsonc mcp/upstream vault/ref
mcp/clients                 : late jsonc tomlc mcp/servers
mcp/roster                  : reeve config durable wire tool/roster mcp/catalog mcp/classify mcp/finding mcp/message mcp/packages mcp/pins mcp/servers mcp/standing
mcp/catalog      part       : late cache mcp/message mcp/upstream
mcp/pins         part       : durable mcp/catalog mcp/classify mcp/finding mcp/message
mcp/packages     pure part  : late
mcp/classify     pure part  : late reeve mcp/message
mcp/finding      pure part  : late mcp/message
mcp/methods      pure part  :
mcp/results      part       : mcp/message
mcp/talk         part       : localsock reeve mcp/message mcp/methods mcp/upstream
mcp/standing     part       : reeve tool/server mcp/catalog mcp/classify mcp/finding mcp/packages mcp/pins mcp/servers
mcp/programs     part       : durable jail jail/guest mcp/packages mcp/pipes mcp/servers mcp/upstream permit
mcp/edge         net part   : mcp/message mcp/talk mcp/upstream
mcp/fleet        part       : mcp/catalog mcp/message mcp/servers mcp/upstream

localsock        net exec=spawn.go :
localsock/spare             : localsock
attach                      : localsock
client                      : reeve durable localsock wire approval config mcp/edge mcp/servers
netguard         net        :

ingress/args     part       : reeve tool
ingress/cmdline  pure part  : reeve
ingress/api                 : reeve approval localsock session wire
ingress/hook                : reeve
ingress/filter              : config personal redact redact/timely ingress/cmdline
ingress/outbound            : reeve netguard jail/egress tool/connect
ingress/checkout part       : reeve jail/configured safepath/gitdir
ingress/layout   part       : late reeve netguard jail jail/environ jail/services jail/viewed session tool/launch vault/ref wire
ingress/receipt  part       : jail jail/plant session
ingress/window   part       : attach jail/pty localsock
ingress/bell     part       : approval attach ingress/cell
ingress/review   part       : reeve jail jail/viewed session tool/takeover view view/shown wire
ingress/run                 : reeve attach durable ingress/checkout ingress/layout ingress/receipt ingress/review ingress/window jail jail/keeper jail/plant scroll session tool/launch vault/ref view wire
ingress/codex    pure part  : tomlc
ingress/mcp                 : reeve approval mcp/catalog mcp/fleet mcp/message mcp/methods mcp/results mcp/servers mcp/talk mcp/upstream tool tool/server
ingress/install  part        : late reeve durable jsonc ingress/codex
ingress/roster              : reeve config durable jsonc redact vault/ref wire mcp/clients mcp/packages mcp/servers ingress/install ingress/cmdline
ingress/cell     part       : redact
ingress/record              : reeve durable config personal audit audit/chain audit/export audit/metrics audit/seal audit/tally ingress/cell ingress/cmdline wire
ingress/secrets             : late reeve jail/environ redact vault/ref wire ingress/cmdline

boundary                    : reeve cache config durable ingress/layout jail jail/bwrap jail/keeper jail/landlock jail/native jail/probe jail/seatbelt policy/layers session

telemetry        net        : reeve config netguard personal audit/metrics audit/otlp audit/sink vault/ref

testuser         exec test  :
sshdtest         net exec test :
mcptest          test       : mcp/message
mcptest/memory   test       : mcp/message mcp/upstream
mcptest/naive    exec test  :
anthropictest    net test   :
openaitest       net test   :
daemon                      : all
cmd/reeve        long       : all
`

const module = "github.com/reeve-gate/reeve"

// room is one row.
type room struct {
	name    string
	may     []string
	imports []string
}

func (r *room) can(what string) bool { return slices.Contains(r.may, what) }

func readRooms(t *testing.T) map[string]*room {
	t.Helper()
	byName := map[string]*room{}
	for line := range strings.Lines(rooms) {
		left, right, found := strings.Cut(line, ":")
		words := strings.Fields(left)
		if len(words) == 0 {
			continue
		}
		if !found {
			t.Fatalf("row %q has no colon", line)
		}
		if byName[words[0]] != nil {
			t.Fatalf("package %s has two rows", words[0])
		}
		byName[words[0]] = &room{name: words[0], may: words[1:], imports: strings.Fields(right)}
	}
	return byName
}

// roomOf names the room of a directory of the module.
func roomOf(dir string) string {
	if dir == "." {
		return "reeve"
	}
	return strings.TrimPrefix(dir, "internal/")
}

// ourRoom names the room that an import path belongs to, or "".
func ourRoom(importPath string) string {
	if importPath == module {
		return "reeve"
	}
	rest, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return ""
	}
	return strings.TrimPrefix(rest, "internal/")
}

// source is one Go file of the tree.
type source struct {
	path string // slashes, relative to the module's root
	dir  string
	test bool
	text []byte
	set  *token.FileSet
	ast  *ast.File
}

func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

// imports maps the local name of each import to its path; "_" and "." as written.
func (s *source) imports() []imported {
	var all []imported
	for _, spec := range s.ast.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		local := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		all = append(all, imported{local, path, spec})
	}
	return all
}

type imported struct {
	local, path string
	node        ast.Node
}

// ownModules measure beside another scanner, and speak with a collector, and need
// their dependencies, which must not become ours.
var ownModules = []string{"script/gitleaks", "script/collector"}

// tree reads every Go file once. It reads the files itself, so that the test
// cache notices a change.
var tree = sync.OnceValues(func() ([]*source, error) {
	var all []*source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && skipDir(d.Name()) {
				return filepath.SkipDir
			}
			if slices.Contains(ownModules, filepath.ToSlash(path)) { // nothing here can import it
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %s: %w", path, err)
		}
		path = filepath.ToSlash(path)
		dir := "."
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			dir = path[:i]
		}
		all = append(all, &source{path, dir, strings.HasSuffix(path, "_test.go"), text, set, file})
		return nil
	})
	return all, err
})

// skipDir names what the go command does not build either, and build output.
func skipDir(name string) bool {
	return name == "testdata" || name == "bin" || name == "node_modules" || name == "vendor" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func sources(t *testing.T) []*source {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// code is the files that ship.
func code(t *testing.T) []*source {
	return slices.DeleteFunc(slices.Clone(sources(t)), func(s *source) bool { return s.test })
}

func TestEveryPackageHasItsRow(t *testing.T) {
	table := readRooms(t)
	seen := map[string]bool{}
	for _, s := range sources(t) {
		name := roomOf(s.dir)
		if !seen[name] && table[name] == nil {
			t.Errorf("%s: package %s has no row in layers_test.go; adding the row is part of adding the package", s.path, name)
		}
		seen[name] = true
	}
	for name := range table {
		if !seen[name] {
			t.Errorf("layers_test.go has a row for %s, which does not exist", name)
		}
	}
}

func TestPackagesImportOnlyWhatTheirRowNames(t *testing.T) {
	table := readRooms(t)
	for _, s := range code(t) {
		r := table[roomOf(s.dir)]
		if r == nil {
			continue // TestEveryPackageHasItsRow says so
		}
		for _, imp := range s.imports() {
			ours := ourRoom(imp.path)
			if ours == "" {
				continue
			}
			if !slices.Contains(r.imports, "all") && !slices.Contains(r.imports, ours) {
				t.Errorf("%s: %s may not import %s", s.at(imp.node), r.name, ours)
			}
			if target := table[ours]; target != nil && target.can("test") {
				t.Errorf("%s: %s is for tests; %s ships", s.at(imp.node), ours, r.name)
			}
		}
	}
}

// TestRowsKeepTheDirection checks the table itself: no sibling imports a
// sibling, nobody but the command imports the wiring, the rows have no cycle.
func TestRowsKeepTheDirection(t *testing.T) {
	table := readRooms(t)
	for name, r := range table {
		parent, _, nested := strings.Cut(name, "/")
		for _, imp := range r.imports {
			target := table[imp]
			if imp == "all" {
				if name != "daemon" && name != "cmd/reeve" {
					t.Errorf("%s may import everything; only daemon and cmd/reeve may", name)
				}
				continue
			}
			if target == nil {
				t.Errorf("row %s names %s, which has no row", name, imp)
				continue
			}
			if p, _, n := strings.Cut(imp, "/"); nested && n && p == parent && !target.can("part") && !r.can("test") {
				t.Errorf("row %s: its sibling %s is no part; siblings never import siblings", name, imp)
			}
			if imp == "daemon" || imp == "cmd/reeve" {
				t.Errorf("row %s: nobody imports the wiring", name)
			}
			if r.can("pure") && !target.can("pure") && imp != "tool" {
				t.Errorf("row %s: it is pure and %s is not", name, imp)
			}
		}
	}
	for name := range table {
		if cycle := findCycle(table, name, nil); cycle != nil {
			t.Errorf("rows form a cycle: %s", strings.Join(cycle, " -> "))
		}
	}
}

// TestRowsGrantNothingThatIsNotUsed keeps the table as narrow as the code.
func TestRowsGrantNothingThatIsNotUsed(t *testing.T) {
	used := map[string]bool{}
	for _, s := range code(t) {
		name := roomOf(s.dir)
		for _, imp := range s.imports() {
			if ours := ourRoom(imp.path); ours != "" {
				used[name+" "+ours] = true
			}
			if touchesNet(imp.path) {
				used[name+" net"] = true
			}
			if imp.path == "os/exec" {
				used[name+" exec"] = true
			}
		}
		s.uses(dials, func(ast.Node, string) { used[name+" net"] = true })
		s.uses(starts, func(ast.Node, string) { used[name+" exec"] = true })
	}
	for name, r := range readRooms(t) {
		for _, imp := range r.imports {
			if imp != "all" && imp != "reeve" && !used[name+" "+imp] { // the nouns are everybody's
				t.Errorf("row %s may import %s and does not", name, imp)
			}
		}
		for _, may := range r.may {
			what, _, _ := strings.Cut(may, "=")
			if (what == "net" || what == "exec") && !used[name+" "+what] {
				t.Errorf("row %s may %s and does not", name, may)
			}
		}
	}
}

func findCycle(table map[string]*room, name string, path []string) []string {
	if slices.Contains(path, name) {
		return append(path, name)
	}
	r := table[name]
	if r == nil {
		return nil
	}
	for _, next := range r.imports {
		if c := findCycle(table, next, append(slices.Clone(path), name)); c != nil {
			return c
		}
	}
	return nil
}

// starts are the ways to start a process, by package.
var starts = map[string][]string{
	"os":                    {"StartProcess"},
	"syscall":               {"ForkExec", "StartProcess", "Exec", "RawSyscall", "RawSyscall6", "SYS_EXECVE", "SYS_CLONE", "SYS_FORK", "SYS_VFORK"},
	"github.com/creack/pty": {"Start", "StartWithSize", "StartWithAttrs"},
	"golang.org/x/sys/unix": {"Exec", "SYS_EXECVE", "SYS_EXECVEAT", "SYS_CLONE", "SYS_CLONE3", "SYS_FORK", "SYS_VFORK"},
}

// dials are the ways to a socket that need no import of net.
var dials = map[string][]string{
	"syscall":               {"Socket", "Connect", "Bind", "Listen", "SYS_SOCKET", "SYS_CONNECT"},
	"golang.org/x/sys/unix": {"Socket", "Connect", "Bind", "Listen", "SYS_SOCKET", "SYS_CONNECT"},
}

// uses calls found for each listed identifier that the file takes from the package.
func (s *source) uses(list map[string][]string, found func(n ast.Node, name string)) {
	local := map[string]string{}
	for _, imp := range s.imports() {
		if _, listed := list[imp.path]; listed {
			local[imp.local] = imp.path
		}
	}
	if len(local) == 0 {
		return
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok {
				if path := local[pkg.Name]; path != "" && slices.Contains(list[path], sel.Sel.Name) {
					found(sel, path+"."+sel.Sel.Name)
				}
			}
		}
		return true
	})
}

func TestOnlyJailsAndTheDaemonsOwnSpawnStartProcesses(t *testing.T) {
	table := readRooms(t)
	for _, s := range code(t) {
		r := table[roomOf(s.dir)]
		if r == nil || r.can("exec") {
			continue
		}
		file := s.path[strings.LastIndexByte(s.path, '/')+1:]
		if r.can("exec=" + file) {
			continue
		}
		for _, imp := range s.imports() {
			if imp.path == "os/exec" {
				t.Errorf("%s: %s may not start processes", s.at(imp.node), r.name)
			}
		}
		s.uses(starts, func(n ast.Node, name string) { t.Errorf("%s: %s may not use %s", s.at(n), r.name, name) })
	}
	for name, r := range table {
		for _, may := range r.may {
			if strings.HasPrefix(may, "exec") && !strings.HasPrefix(name, "jail/") && name != "localsock" && !r.can("test") {
				t.Errorf("row %s: only jail/* and the daemon's own spawn start processes", name)
			}
		}
	}
}

func TestOnlyNamedPackagesTouchTheNetwork(t *testing.T) {
	table := readRooms(t)
	for _, s := range code(t) {
		r := table[roomOf(s.dir)]
		if r == nil || r.can("net") {
			continue
		}
		for _, imp := range s.imports() {
			if touchesNet(imp.path) {
				t.Errorf("%s: %s may not import %s", s.at(imp.node), r.name, imp.path)
			}
		}
		s.uses(dials, func(n ast.Node, name string) { t.Errorf("%s: %s may not use %s", s.at(n), r.name, name) })
	}
}

// touchesNet: net/url, net/netip and net/mail only read text.
func touchesNet(path string) bool {
	switch path {
	case "net", "crypto/tls", "net/http", "net/rpc", "net/smtp", "net/textproto", "log/syslog", "expvar":
		return true
	}
	return strings.HasPrefix(path, "net/http/") || strings.HasPrefix(path, "golang.org/x/net/http")
}

// impure are the ways to a clock or a disk that the import alone does not show.
var impure = map[string][]string{
	"time":          {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "LoadLocation", "Local"},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
}

func TestPurePackagesKnowNeitherClockNorDiskNorNetwork(t *testing.T) {
	table := readRooms(t)
	for _, s := range code(t) {
		r := table[roomOf(s.dir)]
		if r == nil || !r.can("pure") {
			continue
		}
		for _, imp := range s.imports() {
			switch imp.path {
			case "os", "os/exec", "os/user", "os/signal", "syscall", "io/fs", "io/ioutil", "plugin", "unsafe", "golang.org/x/sys/unix", "embed", "math/rand", "math/rand/v2", "crypto/rand":
				t.Errorf("%s: %s is pure and may not import %s", s.at(imp.node), r.name, imp.path)
			}
		}
		s.uses(impure, func(n ast.Node, name string) { t.Errorf("%s: %s is pure and may not use %s", s.at(n), r.name, name) })
	}
}

// keeper is the room of the process that keeps a session.
const keeper = "jail/keeper"

func TestOnlyTheKernelMintsPermits(t *testing.T) {
	for _, s := range code(t) {
		mint := map[string][]string{module + "/internal/permit": {"NewIssuer", "Issuer", "Inherited"}}
		switch roomOf(s.dir) {
		case "kernel", "permit":
			continue
		case keeper: // it was started for one invocation, by a hand that spent the permit
			mint = map[string][]string{module + "/internal/permit": {"NewIssuer", "Issuer"}}
		}
		s.uses(mint, func(n ast.Node, name string) {
			if r := readRooms(t)[roomOf(s.dir)]; r == nil || !r.can("test") {
				t.Errorf("%s: %s outside the kernel", s.at(n), name)
			}
		})
	}
}

// sqliteDriver is the one file that may import a package for its effect: the
// driver registers itself with database/sql and offers no other way.
const sqliteDriver = "modernc.org/sqlite"

func TestNothingRegistersItself(t *testing.T) {
	drivers := 0
	for _, s := range code(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: no init functions; what the binary holds is listed in daemon", s.at(d))
			}
		}
		for _, imp := range s.imports() {
			switch {
			case imp.local == "." && imp.path != "":
				t.Errorf("%s: no dot imports", s.at(imp.node))
			case imp.local == "_" && imp.path == "embed":
			case imp.local == "_" && imp.path == sqliteDriver:
				drivers++
			case imp.local == "_":
				t.Errorf("%s: no imports for effect", s.at(imp.node))
			case imp.path == "C":
				t.Errorf("%s: what ships builds without cgo", s.at(imp.node))
			}
		}
	}
	if drivers > 1 {
		t.Errorf("the SQLite driver is imported for effect in %d files; one place names it", drivers)
	}
}

func TestPackagesStaySmallAndNamedByWhatTheyAre(t *testing.T) {
	lines := map[string]int{}
	for _, s := range code(t) {
		if strings.Contains(string(s.text), "// Code generated by go generate ") {
			continue // a table is as long as its source
		}
		lines[s.dir] += s.codeLines()
		if n := strings.Count(string(s.text), "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines; past %d a file holds more than one idea", s.path, n, maxFileLines)
		}
		if depth := strings.Count(s.dir, "/"); strings.HasPrefix(s.dir, "internal/") && depth > 2 {
			t.Errorf("%s: rooms stand at most two levels below internal", s.dir)
		}
		switch base := s.dir[strings.LastIndexByte(s.dir, '/')+1:]; base {
		case "util", "utils", "common", "helper", "helpers", "types", "misc", "lib", "base", "shared":
			t.Errorf("%s: name a package by what it is or the promise it keeps", s.dir)
		}
	}
	table := readRooms(t)
	for dir, n := range lines {
		if r := table[roomOf(dir)]; r != nil && r.can("test") {
			continue // a suite is as long as its list of attempts
		}
		limit := maxPackageLines
		if r := table[roomOf(dir)]; r != nil && r.can("long") {
			limit = maxLongLines
		}
		if n > limit {
			t.Errorf("%s has %d lines of code; past %d a package is split by noun", dir, n, limit)
		}
	}
}

const (
	maxPackageLines = 1500 // of code: empty lines and comments do not count, so that explaining is free
	maxLongLines    = 3000
	maxFileLines    = 600
)

// codeLines counts the lines on which a token stands.
func (s *source) codeLines() int {
	var sc scanner.Scanner
	file := token.NewFileSet().AddFile(s.path, -1, len(s.text))
	sc.Init(file, s.text, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // inserted at the line's end
		}
		first := file.Line(pos)
		end := first + strings.Count(lit, "\n") // a raw string spans lines
		n += end - max(first-1, last)
		last = end
	}
}
