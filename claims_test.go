package reeve_test

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A claim is one row of a table in docs/threat-model.md whose header is
//
//	| row | claim | contract | test |
//
// row is a short handle, claim a sentence about what holds, contract the ids
// of docs/contract.tsv that it serves, test the tests that check it, each as
// `room.TestName` or `room.TestName/subtest` (rooms as in layers_test.go).
// Under the heading "## Not yet" a table with the header
//
//	| contract | room | reason |
//
// lists the ids that a later room will serve, and under "## Does not apply"
// one with the header | contract | reason | those that never will.
type claim struct {
	row, text string
	ids       []string
	tests     []string
	line      int
}

const (
	threatModel  = "docs/threat-model.md"
	contractFile = "docs/contract.tsv"
	skipsFile    = "docs/skips.md"
)

// mdRow is one row of a Markdown table, with the heading it stands under.
type mdRow struct {
	heading string
	header  []string
	cells   []string
	line    int
}

// tableRows reads every table row of a Markdown file.
func tableRows(t *testing.T, path string) []mdRow {
	t.Helper()
	var (
		rows    []mdRow
		heading string
		header  []string
		number  int
	)
	for line := range strings.Lines(readFile(t, path)) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			heading, header = strings.TrimPrefix(line, "## "), nil
		case !strings.HasPrefix(line, "|"):
			header = nil
		case strings.HasPrefix(line, "|--"), strings.HasPrefix(line, "| --"):
		case header == nil:
			header = cells(line)
		default:
			rows = append(rows, mdRow{heading, header, cells(line), number})
		}
	}
	return rows
}

func cells(line string) []string {
	parts := strings.Split(strings.Trim(line, "|"), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readClaims returns the claims, and the ids that are listed as not yet done
// or as not applicable, each with the line it stands on.
func readClaims(t *testing.T) (claims []claim, notYet, never map[string]int) {
	t.Helper()
	notYet, never = map[string]int{}, map[string]int{}
	list := func(into map[string]int, r mdRow) {
		for _, id := range expandIDs(t, r.cells[0]) {
			if into[id] != 0 {
				t.Errorf("%s:%d: %s is listed twice, first on line %d", threatModel, r.line, id, into[id])
			}
			into[id] = r.line
		}
		for i, c := range r.cells {
			if c == "" {
				t.Errorf("%s:%d: the column %q is empty", threatModel, r.line, r.header[i])
			}
		}
	}
	for _, r := range tableRows(t, threatModel) {
		if len(r.cells) != len(r.header) {
			t.Errorf("%s:%d: %d cells under %d columns", threatModel, r.line, len(r.cells), len(r.header))
			continue
		}
		switch strings.Join(r.header, " ") {
		case "row claim contract test":
			if r.heading == "Not yet" {
				t.Errorf("%s:%d: a claim stands under Not yet", threatModel, r.line)
			}
			claims = append(claims, claim{
				row: r.cells[0], text: r.cells[1], line: r.line,
				ids:   expandIDs(t, r.cells[2]),
				tests: strings.Fields(strings.NewReplacer("`", " ", ",", " ", "<br>", " ").Replace(r.cells[3])),
			})
		case "contract room reason":
			if r.heading != "Not yet" {
				t.Errorf("%s:%d: ids of later rooms stand under the heading Not yet", threatModel, r.line)
			}
			list(notYet, r)
		case "contract reason":
			list(never, r)
		}
	}
	return claims, notYet, never
}

var idForm = regexp.MustCompile(`^([YMGA])([0-9]+)(?:-([YMGA])?([0-9]+))?$`)

// expandIDs reads a list such as "Y24-Y28, A4".
func expandIDs(t *testing.T, list string) []string {
	t.Helper()
	var ids []string
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
		m := idForm.FindStringSubmatch(word)
		if m == nil || m[3] != "" && m[3] != m[1] {
			t.Errorf("%q is no contract id or range of ids", word)
			continue
		}
		first, _ := strconv.Atoi(m[2])
		last := first
		if m[4] != "" {
			last, _ = strconv.Atoi(m[4])
		}
		if last < first || last-first > 200 {
			t.Errorf("%q is no range of ids", word)
			continue
		}
		for n := first; n <= last; n++ {
			ids = append(ids, m[1]+strconv.Itoa(n))
		}
	}
	return ids
}

// readContract returns the statement of each id.
func readContract(t *testing.T) map[string]string {
	t.Helper()
	statements := map[string]string{}
	for i, line := range strings.Split(strings.TrimSuffix(readFile(t, contractFile), "\n"), "\n") {
		cols := strings.Split(line, "\t")
		if i == 0 {
			if line != "id\tkind\tstatement" {
				t.Fatalf("%s: the first line names the columns id, kind, statement", contractFile)
			}
			continue
		}
		if len(cols) != 3 || len(expandIDs(t, cols[0])) != 1 || !slices.Contains([]string{"C", "R", "L", "E", "D"}, cols[1]) || cols[2] == "" {
			t.Errorf("%s:%d: not an id, a kind (C R L E D) and a statement", contractFile, i+1)
			continue
		}
		if statements[cols[0]] != "" {
			t.Errorf("%s:%d: %s stands twice", contractFile, i+1, cols[0])
		}
		statements[cols[0]] = cols[2]
	}
	return statements
}

func TestContractHasItsWholeSetOfIDs(t *testing.T) {
	statements := readContract(t)
	for family, count := range map[string]int{"Y": 119, "M": 41, "G": 76, "A": 58} {
		for n := 1; n <= count; n++ {
			if id := family + strconv.Itoa(n); statements[id] == "" {
				t.Errorf("%s has no %s", contractFile, id)
			}
		}
	}
	if len(statements) != 294 {
		t.Errorf("%s has %d ids, want 294", contractFile, len(statements))
	}
}

func TestEveryContractIDIsClaimedOrListedOnce(t *testing.T) {
	statements := readContract(t)
	claims, notYet, never := readClaims(t)
	claimed := map[string]bool{}
	for _, c := range claims {
		for _, id := range c.ids {
			claimed[id] = true
			if statements[id] == "" {
				t.Errorf("%s:%d: %s is no id of %s", threatModel, c.line, id, contractFile)
			}
			if notYet[id] != 0 || never[id] != 0 {
				t.Errorf("%s:%d: %s is claimed, and listed as not done on line %d", threatModel, c.line, id, notYet[id]+never[id])
			}
		}
	}
	for id, line := range notYet {
		if statements[id] == "" || never[id] != 0 {
			t.Errorf("%s:%d: %s is no id of the contract, or listed twice", threatModel, line, id)
		}
	}
	for id, line := range never {
		if statements[id] == "" {
			t.Errorf("%s:%d: %s is no id of the contract", threatModel, line, id)
		}
	}
	for id := range statements {
		if !claimed[id] && notYet[id] == 0 && never[id] == 0 {
			t.Errorf("%s is neither claimed in %s nor listed under Not yet", id, threatModel)
		}
	}
	t.Logf("%d ids claimed in %d rows, %d not yet, %d not applicable", len(claimed), len(claims), len(notYet), len(never))
}

// promised is what this state of the product owes: none of these may stand
// under Not yet.
const promised = `Y1-Y3 Y24-Y28 Y50-Y56 Y58-Y62 Y64 Y66-Y71 Y73 Y76 Y111 Y112 M1 M3 M41
	G3 G4 G8-G12 G28-G30 G33 G34 G73 A4 A6 A12 A15-A18 A20-A23 A34-A53 A55`

func TestWhatIsPromisedIsClaimed(t *testing.T) {
	claims, _, _ := readClaims(t)
	var claimed []string
	for _, c := range claims {
		claimed = append(claimed, c.ids...)
	}
	for _, id := range expandIDs(t, strings.Join(strings.Fields(promised), " ")) {
		if !slices.Contains(claimed, id) {
			t.Errorf("%s has no claim in %s", id, threatModel)
		}
	}
}

// splitTest turns "kernel.TestX/sub" into a room and a test's name.
func splitTest(name string) (roomName, test string, ok bool) {
	i := strings.Index(name, ".Test")
	if j := strings.Index(name, ".Fuzz"); i < 0 {
		i = j
	}
	if i <= 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// dirOf is the directory of a room.
func dirOf(roomName string) string {
	switch {
	case roomName == "reeve":
		return "."
	case roomName == "client" || strings.HasPrefix(roomName, "cmd/"):
		return roomName
	}
	return "internal/" + roomName
}

func TestEveryClaimNamesALivingTest(t *testing.T) {
	claims, _, _ := readClaims(t)
	funcs := testFuncs(t)
	rows := map[string]int{}
	for _, c := range claims {
		where := fmt.Sprintf("%s:%d", threatModel, c.line)
		if rows[c.row] != 0 {
			t.Errorf("%s: the row %q stands on line %d too", where, c.row, rows[c.row])
		}
		rows[c.row] = c.line
		if c.row == "" || c.text == "" || len(c.ids) == 0 || len(c.tests) == 0 {
			t.Errorf("%s: a claim needs a handle, a sentence, contract ids and a test", where)
		}
		for _, name := range c.tests {
			roomName, test, ok := splitTest(name)
			if !ok {
				t.Errorf("%s: %q is not of the form room.TestName", where, name)
				continue
			}
			base, _, _ := strings.Cut(test, "/")
			f := funcs[dirOf(roomName)+"."+base]
			switch {
			case f == nil:
				t.Errorf("%s: there is no test %s in %s", where, base, dirOf(roomName))
			case skipsAlways(f):
				t.Errorf("%s: %s skips whatever happens", where, name)
			}
		}
	}
}

// testFuncs lists the tests of the tree by "directory.Name".
func testFuncs(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	funcs := map[string]*ast.FuncDecl{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				funcs[s.dir+"."+f.Name.Name] = f
			}
		}
	}
	return funcs
}

// skipsAlways reports a call of Skip, Skipf or SkipNow that stands in the
// function's own list of statements, before anything could decide.
func skipsAlways(f *ast.FuncDecl) bool {
	for _, stmt := range f.Body.List {
		expr, ok := stmt.(*ast.ExprStmt)
		if !ok {
			continue
		}
		call, ok := expr.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Skip") {
			return true
		}
	}
	return false
}
