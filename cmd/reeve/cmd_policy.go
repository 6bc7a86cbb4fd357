package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/netguard"
	"github.com/reeve-gate/reeve/internal/policy"
	claudepolicy "github.com/reeve-gate/reeve/internal/policy/claude"
	"github.com/reeve-gate/reeve/internal/policy/lint"
	"github.com/reeve-gate/reeve/internal/policy/load"
	"github.com/reeve-gate/reeve/internal/policy/trial"
	"github.com/reeve-gate/reeve/internal/safepath"
	"github.com/reeve-gate/reeve/internal/session"
	"github.com/reeve-gate/reeve/internal/tool"
	"github.com/reeve-gate/reeve/internal/tool/connect"
	"github.com/reeve-gate/reeve/internal/tool/files"
	"github.com/reeve-gate/reeve/internal/tool/foreign"
	"github.com/reeve-gate/reeve/internal/tool/git"
	"github.com/reeve-gate/reeve/internal/tool/shell"
)

const policyUsage = `reeve policy check [FILE]
reeve policy explain [--policy FILE] [--mode M] [--sandbox ready|missing] [--json] TOOL JSON
reeve policy explain --builtin
reeve policy test FILE.tsv [--workspace DIR] [--home DIR]
reeve policy lint [FILE] [--json]
reeve policy import claude [FILE]
reeve policy trust [--forget]`

const policyHelp = `check reads a policy file (without FILE: the installed ones) and says at which line and column it is wrong; silence is good.

explain says what would be decided about one call and why: the step, the rule and where it stands, every rule that matched, what the call would do. It judges by the installed layers, a project's file as untrusted, or by --policy FILE and the built-in layer; mode default and no sandbox unless told. A client's tool is named as in claude:bash. --builtin prints the built-in layer.

test tries a file of cases: tab-separated, the first line names the columns rules-json, tool, input-json, verdict and perhaps context-json, also-ok, why; @W@ and @H@ stand for the workspace and the home. Each case's rules are its only layer. It prints each miss and a last line "N right, N unsafe, N noisy, N weak" (unsafe: allowed what must be asked or denied; noisy: asked or denied what is fine; weak: asked what must be denied); exit code 1 on any unsafe.

lint finds rules that never decide, allows that cover more than they look like, denies that another spelling walks around; exit code 1 where it finds something.

import prints the permissions of Claude Code's settings.json (without FILE: your own) as a policy file, and on standard error what has no meaning here.

trust accepts the exact content of this project's .reeve/policy.toml; until then, and after any change, its rules only tighten. None of these but trust needs the daemon.`

func cmdPolicy(env *cmdEnv, args []string) int {
	if len(args) == 0 {
		return usage(env, "policy takes one of check, explain, test, lint, import, trust; reeve help policy tells more")
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "check":
		return policyCheck(env, rest)
	case "explain":
		return policyExplain(env, rest)
	case "test":
		return policyTest(env, rest)
	case "lint":
		return policyLint(env, rest)
	case "import":
		return policyImport(env, rest)
	case "trust":
		return policyTrust(env, rest)
	default:
		return usage(env, "policy %q: it is check, explain, test, lint, import or trust", verb)
	}
}

// parseMixed parses flags that may stand before, between or after operands.
func parseMixed(f *flag.FlagSet, args []string) (operands []string, code int, ok bool) {
	for {
		if code, ok := parseFlags(f, args); !ok {
			return nil, code, false
		}
		if f.NArg() == 0 {
			return operands, 0, true
		}
		operands, args = append(operands, f.Arg(0)), f.Args()[1:]
	}
}

// absolute is a path as the command line means it.
func (env *cmdEnv) absolute(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(env.Dir, p)
}

// policyFile reads one policy file.
func policyFile(env *cmdEnv, file string) (*policy.Layer, error) {
	src, err := os.ReadFile(env.absolute(file))
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return policy.Parse(policy.LayerUser, file, src)
}

// installed are the layers that hold where the command was typed.
func installed(env *cmdEnv) ([]*policy.Layer, error) {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return nil, err
	}
	l := load.New(load.Source{Managed: load.Managed, User: filepath.Join(paths.Config, "policy.toml")})
	return l.Layers(session.Repository(env.Dir), nil), nil
}

func policyCheck(env *cmdEnv, args []string) int {
	operands, code, ok := parseMixed(flags(env, "policy check"), args)
	switch {
	case !ok:
		return code
	case len(operands) > 1:
		return usage(env, "policy check takes one file")
	case len(operands) == 1:
		if _, err := policyFile(env, operands[0]); err != nil {
			return fail(env, err)
		}
		return reeve.ExitOK
	}
	layers, err := installed(env)
	if err != nil {
		return fail(env, err)
	}
	for _, l := range layers {
		if l.Fault != nil {
			fmt.Fprintf(env.Stderr, "reeve: %v\n", l.Fault)
			code = reeve.ExitFailed
		}
	}
	return code
}

func policyExplain(env *cmdEnv, args []string) int {
	f := flags(env, "policy explain")
	file := f.String("policy", "", "judge by this file and the built-in layer")
	modeName := f.String("mode", "default", "default, plan, auto or dangerous")
	sandboxName := f.String("sandbox", "missing", "ready or missing")
	asJSON := f.Bool("json", false, "print JSON")
	builtIn := f.Bool("builtin", false, "print the built-in layer")
	operands, code, ok := parseMixed(f, args)
	if !ok {
		return code
	}
	if *builtIn {
		env.Stdout.Write(load.BuiltInText())
		return reeve.ExitOK
	}
	if len(operands) != 2 {
		return usage(env, "policy explain takes a tool and its arguments as JSON")
	}
	mode, err := reeve.ParseMode(*modeName)
	if err != nil {
		return usage(env, "%v", err)
	}
	sandbox, err := reeve.ParseSandbox(*sandboxName)
	if err != nil {
		return usage(env, "%v", err)
	}
	layers, err := explainLayers(env, *file)
	if err != nil {
		return fail(env, err)
	}
	bench, err := newBench(env, "", "", false)
	if err != nil {
		return fail(env, err)
	}
	x := bench.Explain(policy.Join(layers...), operands[0], []byte(operands[1]), mode, sandbox)
	if *asJSON {
		printJSON(env.Stdout, x)
	} else {
		x.Print(env.Stdout)
	}
	return reeve.ExitOK
}

func explainLayers(env *cmdEnv, file string) ([]*policy.Layer, error) {
	if file == "" {
		return installed(env)
	}
	l, err := policyFile(env, file)
	if err != nil {
		return nil, err
	}
	return []*policy.Layer{l, load.BuiltIn()}, nil
}

// newBench is where calls are tried: in the workspace and home given, or where
// the command was typed. clients puts a client's tool before ours of the same
// name, for files of cases.
func newBench(env *cmdEnv, workspace, home string, clients bool) (*trial.Bench, error) {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return nil, err
	}
	if home == "" {
		home = paths.Home
	}
	if workspace == "" {
		workspace = session.Repository(env.Dir)
	}
	disk := safepath.NewDisk(safepath.Options{Home: env.absolute(home), State: []string{paths.Config, paths.State, paths.Data}})
	own := tool.NewRegistry(append(append(files.Tools(disk), git.Tools(nil)...), shell.New(nil), connect.New(&netguard.Guard{}))...)
	claudes := tool.NewRegistry(foreign.Tools("claude")...)
	find := func(name string) []tool.Tool {
		name = strings.ToLower(name)
		var all []tool.Tool
		if t, ok := claudes.Find(foreign.Canonical("claude", name)); ok {
			all = append(all, t)
		}
		if t, ok := own.Find(name); ok {
			all = append(all, t)
			if !clients {
				all = []tool.Tool{t}
			}
		}
		if !strings.Contains(name, ":") {
			name = foreign.Canonical("claude", name)
		}
		if t, ok := foreign.Find(name); ok && len(all) == 0 {
			all = append(all, t)
		}
		return all
	}
	return &trial.Bench{Find: find, Disk: disk, Workspace: env.absolute(workspace), Home: env.absolute(home)}, nil
}

func policyTest(env *cmdEnv, args []string) int {
	f := flags(env, "policy test")
	workspace := f.String("workspace", "", "what @W@ stands for")
	home := f.String("home", "", "what @H@ stands for")
	operands, code, ok := parseMixed(f, args)
	if !ok {
		return code
	}
	if len(operands) != 1 {
		return usage(env, "policy test takes one file of cases")
	}
	text, err := os.ReadFile(env.absolute(operands[0]))
	if err != nil {
		return fail(env, fmt.Errorf("read the cases: %w", err))
	}
	cases, err := trial.ReadCases(operands[0], text)
	if err != nil {
		return fail(env, err)
	}
	bench, err := newBench(env, *workspace, *home, true)
	if err != nil {
		return fail(env, err)
	}
	score, err := bench.Run(env.Stdout, operands[0], cases)
	if err != nil {
		return fail(env, err)
	}
	fmt.Fprintln(env.Stdout, score)
	if score.Unsafe > 0 {
		return reeve.ExitFailed
	}
	return reeve.ExitOK
}

func policyLint(env *cmdEnv, args []string) int {
	f := flags(env, "policy lint")
	asJSON := f.Bool("json", false, "print JSON")
	operands, code, ok := parseMixed(f, args)
	if !ok {
		return code
	}
	var layers []*policy.Layer
	var err error
	switch len(operands) {
	case 0:
		layers, err = installed(env)
	case 1:
		var l *policy.Layer
		l, err = policyFile(env, operands[0])
		layers = []*policy.Layer{l}
	default:
		return usage(env, "policy lint takes one file")
	}
	if err != nil {
		return fail(env, err)
	}
	found := lint.Layers(layers...)
	if len(operands) == 0 { // nobody can change the built-in rules
		builtIn := load.BuiltIn().File + ":"
		found = slices.DeleteFunc(found, func(f lint.Finding) bool { return strings.HasPrefix(f.At, builtIn) })
	}
	if *asJSON {
		printJSON(env.Stdout, found)
	} else {
		for _, x := range found {
			fmt.Fprintln(env.Stdout, trial.Visible(fmt.Sprintf("%s: %s: %s: %s", x.At, x.Kind, x.Rule, x.Message)))
		}
	}
	if len(found) > 0 {
		return reeve.ExitFailed
	}
	return reeve.ExitOK
}

func policyImport(env *cmdEnv, args []string) int {
	operands, code, ok := parseMixed(flags(env, "policy import"), args)
	if !ok {
		return code
	}
	if len(operands) == 0 || len(operands) > 2 || operands[0] != "claude" {
		return usage(env, "policy import takes the word claude and perhaps a settings.json")
	}
	file := filepath.Join(env.Getenv("HOME"), ".claude", "settings.json")
	if len(operands) == 2 {
		file = operands[1]
	}
	src, err := os.ReadFile(env.absolute(file))
	if err != nil {
		return fail(env, fmt.Errorf("read the settings: %w", err))
	}
	toml, notes, err := claudepolicy.Import(src, file)
	if err != nil {
		return fail(env, err)
	}
	env.Stdout.Write(toml)
	for _, n := range notes {
		fmt.Fprintln(env.Stderr, trial.Visible(n))
	}
	return reeve.ExitOK
}
