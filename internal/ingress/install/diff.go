package install

import (
	"fmt"
	"strings"
)

// context is how many unchanged lines stand around a change.
const context = 3

// Diff shows the difference of two texts as a unified diff; it is empty where
// there is none. A missing file is "".
func Diff(name string, before, after []byte) string {
	if string(before) == string(after) {
		return ""
	}
	ops := script(lines(before), lines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for at := 0; at < len(ops); {
		if ops[at].sign == ' ' {
			at++
			continue
		}
		from, to := max(0, at-context), hunkEnd(ops, at)
		writeHunk(&b, ops, from, to)
		at = to
	}
	return b.String()
}

// op is one line of a diff and its numbers in both texts, from 1.
type op struct {
	sign     byte // ' ', '-' or '+'
	text     string
	old, new int
}

func lines(b []byte) []string {
	all := strings.SplitAfter(string(b), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// script is the shortest way from old to new by whole lines, found by the
// longest common subsequence of what lies between their common ends. Past a
// bound that part is replaced whole.
func script(old, new []string) []op {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	a, b := old[head:len(old)-tail], new[head:len(new)-tail]
	longest := commonLengths(a, b)
	var ops []op
	i, j := 0, 0
	emit := func(sign byte, text string) {
		ops = append(ops, op{sign, text, i + 1, j + 1})
		if sign != '+' {
			i++
		}
		if sign != '-' {
			j++
		}
	}
	for i < head {
		emit(' ', old[i])
	}
	for i < head+len(a) || j < head+len(b) {
		switch x, y := i-head, j-head; {
		case x < len(a) && y < len(b) && a[x] == b[y]:
			emit(' ', a[x])
		case y == len(b) || x < len(a) && (longest == nil || longest[x+1][y] >= longest[x][y+1]):
			emit('-', a[x])
		default:
			emit('+', b[y])
		}
	}
	for i < len(old) {
		emit(' ', old[i])
	}
	return ops
}

// maxCells bounds the table of the longest common subsequence.
const maxCells = 4 << 20

// commonLengths is, for each pair of positions, how many lines the rests of
// both have in common; nil beyond the bound.
func commonLengths(a, b []string) [][]int32 {
	if (len(a)+1)*(len(b)+1) > maxCells {
		return nil
	}
	table := make([][]int32, len(a)+1)
	cells := make([]int32, (len(a)+1)*(len(b)+1))
	for i := range table {
		table[i] = cells[i*(len(b)+1) : (i+1)*(len(b)+1)]
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// hunkEnd is where the hunk of the change at ends: after the context behind
// the last change that is near enough to share it.
func hunkEnd(ops []op, at int) int {
	end := at
	for i := at; i < len(ops) && i <= end+2*context; i++ {
		if ops[i].sign != ' ' {
			end = i
		}
	}
	return min(len(ops), end+1+context)
}

func writeHunk(b *strings.Builder, ops []op, from, to int) {
	var olds, news int
	for _, o := range ops[from:to] {
		if o.sign != '+' {
			olds++
		}
		if o.sign != '-' {
			news++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", extent(ops[from].old, olds), extent(ops[from].new, news))
	for _, o := range ops[from:to] {
		b.WriteByte(o.sign)
		b.WriteString(strings.TrimSuffix(o.text, "\n"))
		b.WriteByte('\n')
		if !strings.HasSuffix(o.text, "\n") {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
}

func extent(start, length int) string {
	if length == 0 {
		start-- // by convention the line before
	}
	if length == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, length)
}
