package shellread

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reeve-gate/reeve"
)

func (r *reader) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

// stmt reads one statement with its redirections.
func (r *reader) stmt(s *syntax.Stmt) {
	if s == nil || !r.enter() {
		r.leave()
		return
	}
	defer r.leave()
	if s.Background || s.Coprocess || s.Disown {
		r.subshell(func() { r.foreground(s) })
		return
	}
	r.foreground(s)
}

func (r *reader) foreground(s *syntax.Stmt) {
	saved := r.in
	from := len(r.out)
	for _, redir := range s.Redirs {
		r.redirect(redir)
	}
	redirs := len(r.out)
	if call, ok := s.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		r.call(call)
		r.order(from, redirs)
		if r.isExecAlone(call) {
			r.shared()
			return // its redirections stay
		}
	} else if s.Cmd != nil {
		r.shared()
		r.compound(s.Cmd)
	}
	r.in = saved
}

// shared: several commands read the same input one after the other, so that
// what is left for one of them is not certain.
func (r *reader) shared() {
	if r.in.kind == inputText {
		r.in = input{kind: inputUnknown}
	}
}

// order puts the command before its redirections, as people read it.
func (r *reader) order(from, redirs int) {
	if from == redirs || redirs == len(r.out) {
		return
	}
	moved := append([]reeve.Effect{}, r.out[from:redirs]...)
	r.out = append(append(r.out[:from], r.out[redirs:]...), moved...)
}

// subshell runs f in a copy of the shell.
func (r *reader) subshell(f func()) {
	saved, in := r.scope, r.in
	f()
	r.scope, r.in = saved, in
}

// branch runs f as something that may not run, and gives the state after it.
func (r *reader) branch(from scope, f func()) scope {
	saved := r.scope
	r.scope = from
	r.maybe++
	f()
	r.maybe--
	end := r.scope
	r.scope = saved
	return end
}

func (r *reader) compound(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		r.assignments(c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			r.pipe(c)
		} else {
			r.andOr(c)
		}
	case *syntax.Subshell:
		r.subshell(func() { r.stmts(c.Stmts) })
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.IfClause:
		r.ifClause(c)
	case *syntax.WhileClause:
		r.loop(func() {
			r.stmts(c.Cond)
			r.stmts(c.Do)
		})
	case *syntax.ForClause:
		r.forClause(c)
	case *syntax.CaseClause:
		r.caseClause(c)
	case *syntax.FuncDecl:
		r.declareFunc(c)
	case *syntax.ArithmCmd:
		r.arith(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			r.let(x)
		}
		r.builtinEffect("let", r.words.Source(c), reeve.CommandReadOnly)
	case *syntax.TestClause:
		r.test(c.X)
	case *syntax.DeclClause:
		r.declare(c)
	case *syntax.TimeClause:
		r.timed(c)
	case *syntax.CoprocClause:
		if c.Name != nil {
			name := r.expand(c.Name)
			r.set(name.Text, value{known: name.Certain()})
		}
		r.subshell(func() {
			r.in = input{kind: inputUnknown}
			r.stmt(c.Stmt)
		})
	default:
		r.unknown(fmt.Sprintf("holds a construct that is not read: %T", c))
	}
}

// timed: the keyword, which may stand before a whole pipeline.
func (r *reader) timed(c *syntax.TimeClause) {
	if c.Stmt == nil {
		return
	}
	dropDashes(c.Stmt)
	saved := r.wrappers
	r.wrappers = append(saved[:len(saved):len(saved)], reeve.Wrapper{Name: "time", Text: "time", Harmless: true})
	r.stmt(c.Stmt)
	r.wrappers = saved
}

// dropDashes: bash takes time -- COMMAND for time COMMAND, the parser takes --
// for the command.
func dropDashes(s *syntax.Stmt) {
	for {
		switch c := s.Cmd.(type) {
		case *syntax.BinaryCmd:
			s = c.X
			continue
		case *syntax.CallExpr:
			if len(c.Assigns) == 0 && len(c.Args) > 1 && c.Args[0].Lit() == "--" {
				c.Args = c.Args[1:]
			}
		}
		return
	}
}

// link is one statement of a chain with the operator before it.
type link struct {
	op   syntax.BinCmdOperator
	stmt *syntax.Stmt
}

// chain flattens a left-deep list, so that a long one needs no stack.
func chain(b *syntax.BinaryCmd, same func(op syntax.BinCmdOperator) bool) []link {
	var back []link
	for {
		back = append(back, link{b.Op, b.Y})
		inner, ok := b.X.Cmd.(*syntax.BinaryCmd)
		if !ok || !same(inner.Op) || len(b.X.Redirs) > 0 || b.X.Negated || b.X.Background {
			back = append(back, link{0, b.X})
			break
		}
		b = inner
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

func isAndOr(op syntax.BinCmdOperator) bool { return op == syntax.AndStmt || op == syntax.OrStmt }

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// andOr follows the states in which each part of a && b || c may run.
func (r *reader) andOr(c *syntax.BinaryCmd) {
	links := chain(c, isAndOr)
	base := r.scope
	r.stmt(links[0].stmt)
	run := r.scope       // the state after what ran last
	skipped := []scope{} // states in which the parts before were left out
	certain := succeeds(links[0].stmt, base, &run)
	for _, l := range links[1:] {
		if l.op == syntax.AndStmt {
			skipped = append(skipped, run)
			if certain {
				run.alts = base.alts
			}
			run = r.branch(run, func() { r.stmt(l.stmt) })
			certain = certain && succeeds(l.stmt, base, &run)
			continue
		}
		entry := join(&base, append(skipped, run)...)
		end := r.branch(entry, func() { r.stmt(l.stmt) })
		if leavesShell(l.stmt) { // cd x || exit
			if certain {
				run.alts = base.alts
			}
			run = join(&base, run)
			skipped = nil
			continue
		}
		run, skipped, certain = join(&base, entry, end), nil, false
	}
	r.scope = join(&base, append(skipped, run)...)
}

// succeeds reports whether the success of a statement means that every cd in
// it succeeded.
func succeeds(s *syntax.Stmt, before scope, after *scope) bool {
	if len(after.alts) == len(before.alts) {
		return true
	}
	c, simple := s.Cmd.(*syntax.CallExpr)
	return simple && !s.Negated && len(c.Args) > 0 && (c.Args[0].Lit() == "cd" || c.Args[0].Lit() == "pushd")
}

// leavesShell reports whether a statement ends the shell, function or round
// for certain.
func leavesShell(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) > 0 && !s.Background {
			switch c.Args[0].Lit() {
			case "exit", "return", "continue", "break":
				return true
			}
		}
	case *syntax.Block:
		return len(c.Stmts) > 0 && leavesShell(c.Stmts[len(c.Stmts)-1])
	}
	return false
}

// pipe runs each part in a copy of the shell; what a part reads is what the
// part before it wrote.
func (r *reader) pipe(c *syntax.BinaryCmd) {
	in := r.in
	for i, l := range chain(c, isPipe) {
		if i > 0 {
			r.in = in
		}
		r.subshell(func() { r.stmt(l.stmt) })
		in = r.written(l.stmt)
	}
}

// ifClause joins the states after its branches.
func (r *reader) ifClause(c *syntax.IfClause) {
	base := r.scope
	var ends []scope
	hasElse := false
	for c != nil && !r.spent {
		r.steps++
		if len(c.Cond) > 0 {
			r.stmts(c.Cond)
			ends = append(ends, r.branch(r.scope, func() { r.stmts(c.Then) }))
		} else {
			hasElse = true
			ends = append(ends, r.branch(r.scope, func() { r.stmts(c.Then) }))
		}
		c = c.Else
	}
	if !hasElse {
		ends = append(ends, r.scope)
	}
	r.scope = join(&base, ends...)
}

// loop reads a body that runs any number of times. Where a round changes what
// the next one means, the body is read again from the joined state.
func (r *reader) loop(body func()) {
	entry := r.scope
	from := len(r.out)
	for range 4 {
		end := r.branch(entry, func() { r.catch(body) })
		if end.settles(&entry) {
			r.scope = join(&entry, entry, end)
			return
		}
		if r.spent {
			return
		}
		r.out = r.out[:from]
		entry = join(&r.scope, entry, end)
	}
	r.unknown("a loop changes what its own body means")
	r.scope = entry
	r.scope.dir = ""
}

// catch runs f and joins the states in which break, continue or return left
// it with the one at its end.
func (r *reader) catch(f func()) {
	base := r.scope
	var left []scope
	r.jumps = append(r.jumps, &left)
	f()
	r.jumps = r.jumps[:len(r.jumps)-1]
	if len(left) > 0 {
		r.scope = join(&base, append(left, r.scope)...)
	}
}

// jump notes that the shell may leave every loop and function from here.
func (r *reader) jump() {
	for _, left := range r.jumps {
		if len(*left) < 64 {
			*left = append(*left, r.scope)
		} else {
			r.spend("more jumps than are followed")
		}
	}
}

func (r *reader) forClause(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		number := l.InPos.IsValid() && !c.Select
		for _, w := range l.Items {
			number = r.numbers(w) && number
		}
		r.loop(func() {
			r.set(l.Name.Value, value{number: number})
			if c.Select {
				r.set("REPLY", value{})
			}
			r.stmts(c.Do)
		})
	case *syntax.CStyleLoop:
		r.arith(l.Init)
		r.loop(func() {
			r.arith(l.Cond)
			r.stmts(c.Do)
			r.arith(l.Post)
		})
	default:
		r.unknown(fmt.Sprintf("holds a loop that is not read: %T", l))
	}
}

func (r *reader) caseClause(c *syntax.CaseClause) {
	r.expand(c.Word)
	base := r.scope
	ends := []scope{base}
	var fallen *scope
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.expand(p)
		}
		entry := r.scope
		if fallen != nil {
			entry = join(&base, entry, *fallen)
		}
		end := r.branch(entry, func() { r.stmts(item.Stmts) })
		ends = append(ends, end)
		fallen = nil
		if item.Op != syntax.Break {
			fallen = &end
		}
	}
	ends = append(ends, r.scope)
	r.scope = join(&base, ends...)
}

// declareFunc reads the body once where it is declared, whether or not it is
// called.
func (r *reader) declareFunc(c *syntax.FuncDecl) {
	if c.Name == nil {
		r.unknown("declares a function without a name")
		return
	}
	f := &function{name: c.Name.Value, body: c.Body, certain: r.maybe == 0, src: r.words.Src, next: r.scope.funcs}
	r.scope.funcs = f
	from := len(r.out)
	saved, in := r.scope, r.in
	r.maybe++
	r.calls = append(r.calls, f)
	r.in = input{kind: inputUnknown}
	r.catch(func() { r.stmt(c.Body) })
	r.calls = r.calls[:len(r.calls)-1]
	r.maybe--
	r.scope, r.in = saved, in
	f.listed = append([]reeve.Effect{}, r.out[min(from, len(r.out)):]...)
}
