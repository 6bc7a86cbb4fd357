// Package secrets is the door through which a person keeps secrets: reeve vault.
//
// [Desk] is where the person stands. [Desk.Run] carries out one command: it reads
// flags, takes what is secret from a terminal without showing it or from
// standard input, never from an argument, and leaves the act to the daemon
// ([Keeper]), which makes it behind the kernel and records it.
package secrets

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/vault/ref"
	"github.com/reeve-gate/reeve/internal/wire"
)

// Keeper does what is asked and tells what is known: the daemon.
type Keeper interface {
	Vault(ctx context.Context, w wire.Vault, in []byte, out bool) (wire.Vaulted, []byte, error)
}

// Desk is where a person types a command. Every field is required.
type Desk struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Dir, Home      string // absolute
	Environ        []string
	Client         func() (Keeper, error)
	Hidden         func(prompt string) ([]byte, error) // reads a line from the terminal without showing it; nil = standard input is none
	Present        func(what, word string) error       // a person at a terminal types the word
	Exit           func(error) int                     // the exit code of an error
	Program        func(args []string) int             // reeve run
}

// Usage and Help are the manual's.
const (
	Usage = "reeve vault init [--keychain | --passphrase | --key-file PATH]\nreeve vault set SERVICE/KEY\nreeve vault rotate SERVICE/KEY\nreeve vault get SERVICE/KEY\nreeve vault ls [--json]\nreeve vault rm SERVICE/KEY\nreeve vault run --env NAME=SERVICE/KEY... [what reeve run takes] -- CMD ARGS\nreeve vault import-env [--dry-run] [--service S] [NAME...]\nreeve vault rekey [--keychain | --passphrase | --key-file PATH]\nreeve vault unlock [--accept-older]\nreeve vault lock\nreeve vault status [--json]\nreeve vault export FILE\nreeve vault import [--replace] FILE"
	Help  = "Keeps secrets sealed in one file and gives them to what needs them, by reference: reeve://SERVICE/KEY in the env and headers of mcp.json, --env NAME=SERVICE/KEY of reeve vault run. Values held there are masked in everything that Reeve shows or writes. An agent cannot call it, and every act is recorded, without the value.\n\nset and rotate read the value from the terminal without showing it, or from standard input, and never from an argument. get shows it to a person at a terminal who types the word that it asks for; standard output may be a pipe. ls shows names, never values.\n\nThe key of the vault is kept by the system's keychain; init says so, or where there is none, that you choose: a passphrase, which reeve vault unlock asks for once for each daemon, or a key file at a path that you name, which is weaker and which reeve doctor keeps telling you. Nothing is ever kept unsealed. rekey changes the key, and who keeps it; the former one opens nothing any more.\n\nimport-env takes over what looks like a secret in the environment, or the variables that you name, as env/NAME, and says where to remove them. run starts CMD as reeve run does, with the secrets in its environment and nowhere else. export writes a copy whose key is a passphrase of its own, import takes the secrets of one over; those that are there stay, unless --replace says otherwise.\n\nA file that is older than the vault was, damaged, or changed by somebody else is refused and says what to do; unlock --accept-older takes an older one that you put there yourself."
)

// Run carries out one command, what stands after reeve vault, and gives its
// exit code.
func (d *Desk) Run(args []string) int {
	verbs := map[string]func([]string) error{
		"init": d.init, "set": d.set, "rotate": d.set, "get": d.get, "ls": d.ls, "rm": d.rm, "import-env": d.importEnv, "rekey": d.rekey,
		"unlock": d.unlock, "lock": d.lock, "status": d.status, "export": d.export, "import": d.take,
	}
	if len(args) > 0 && args[0] == "run" {
		return d.Program(args[1:])
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		fmt.Fprintln(d.Stderr, "reeve: vault takes one of init, set, rotate, get, ls, rm, run, import-env, rekey, unlock, lock, status, export, import; reeve help vault tells more")
		return reeve.ExitUsage
	}
	err := verbs[args[0]](args)
	if errors.Is(err, flag.ErrHelp) {
		return reeve.ExitOK
	}
	if err != nil {
		fmt.Fprintf(d.Stderr, "reeve: %v\n", err)
	}
	return d.Exit(err)
}

// parsed reads the flags of a verb and gives its n operands.
func (d *Desk) parsed(args []string, n int, what string, define func(*flag.FlagSet)) ([]string, error) {
	f := flag.NewFlagSet("reeve vault "+args[0], flag.ContinueOnError)
	f.SetOutput(io.Discard)
	if define != nil {
		define(f)
	}
	var operands []string
	for rest := args[1:]; ; {
		if err := f.Parse(rest); errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(d.Stderr, "reeve help vault tells more")
			return nil, err
		} else if err != nil {
			return nil, fmt.Errorf("%w: %s; reeve help vault tells more", reeve.ErrUsage, cmdline.Said(err.Error()))
		}
		if f.NArg() == 0 {
			break
		}
		operands, rest = append(operands, f.Arg(0)), f.Args()[1:]
	}
	if n >= 0 && len(operands) != n {
		return nil, fmt.Errorf("%w: write reeve vault %s %s", reeve.ErrUsage, args[0], what)
	}
	return operands, nil
}

// do asks the daemon; in is wiped.
func (d *Desk) do(w wire.Vault, in []byte) (wire.Vaulted, error) {
	defer ref.Wipe(in)
	c, err := d.Client()
	if err != nil {
		return wire.Vaulted{}, err
	}
	v, _, err := c.Vault(context.Background(), w, in, false)
	return v, err
}

func (d *Desk) say(format string, args ...any) {
	fmt.Fprintf(d.Stderr, "reeve: "+format+"\n", args...)
}

// secret reads a secret: a line of the terminal, typed twice where it is new, or
// standard input without its last line end.
func (d *Desk) secret(prompt string, twice bool) ([]byte, error) {
	if d.Hidden == nil {
		b, err := io.ReadAll(io.LimitReader(d.Stdin, 64<<10+2))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
		if len(b) == 0 {
			return nil, fmt.Errorf("%w: nothing came on standard input", reeve.ErrUsage)
		}
		return b, nil
	}
	first, err := d.Hidden(prompt + ": ")
	if err != nil || !twice {
		return first, err
	}
	again, err := d.Hidden("once more: ")
	if err != nil {
		return nil, err
	}
	defer ref.Wipe(again)
	if !bytes.Equal(first, again) {
		ref.Wipe(first)
		return nil, fmt.Errorf("%w: the two are not the same; nothing was changed", reeve.ErrUsage)
	}
	return first, nil
}

// ready makes sure that the vault is there and open: with the keychain where it
// is not there yet, with the passphrase where it is locked and a terminal is here.
func (d *Desk) ready() error {
	v, err := d.do(wire.Vault{Do: "status"}, nil)
	switch {
	case err != nil:
		return err
	case !v.State.Exists:
		if _, err := d.do(wire.Vault{Do: "init", Holder: keychain}, nil); err != nil {
			return err
		}
		d.say("the vault is made; the system's keychain keeps its key")
		return nil
	case v.State.Locked && v.State.Holder == passphrase && d.Hidden != nil:
		return d.open(v.State, false)
	}
	return nil
}

// holds reports whether the vault has a secret, which needs no key.
func (d *Desk) holds(name string) (bool, error) {
	v, err := d.do(wire.Vault{Do: "ls"}, nil)
	return slices.ContainsFunc(v.Entries, func(e wire.VaultEntry) bool { return e.Name == name }), err
}

func absent(name string) error {
	return fmt.Errorf("%w: the vault holds no %s; reeve vault ls lists what it holds", reeve.ErrNotFound, name)
}

// known refuses a name that the vault does not hold, before anything is typed.
func (d *Desk) known(name string) error {
	if _, err := ref.ParseName(name); err != nil {
		return fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	there, err := d.holds(name)
	if err == nil && !there {
		err = absent(name)
	}
	return err
}

// Kinds of holders on the wire.
const (
	keychain   = "keychain"
	passphrase = "passphrase"
	keyFile    = "key file"
)

// open unlocks.
func (d *Desk) open(s wire.VaultState, acceptOlder bool) error {
	var pass []byte
	if s.Holder == passphrase {
		var err error
		if pass, err = d.secret("passphrase of the vault", false); err != nil {
			return err
		}
	}
	_, err := d.do(wire.Vault{Do: "unlock", AcceptOlder: acceptOlder}, pass)
	return err
}

// kept reads who is to keep the key.
type kept struct {
	keychain, passphrase bool
	file                 string
}

func (k *kept) flags(f *flag.FlagSet) {
	f.BoolVar(&k.keychain, "keychain", false, "the system's keychain")
	f.BoolVar(&k.passphrase, "passphrase", false, "a passphrase")
	f.StringVar(&k.file, "key-file", "", "a file of mode 0600")
}

func (k *kept) holder(usual string) (string, error) {
	n, kind := 0, usual
	for _, c := range []struct {
		on   bool
		kind string
	}{{k.keychain, keychain}, {k.passphrase, passphrase}, {k.file != "", keyFile}} {
		if c.on {
			n, kind = n+1, c.kind
		}
	}
	if n > 1 {
		return "", fmt.Errorf("%w: choose one of --keychain, --passphrase and --key-file", reeve.ErrUsage)
	}
	return kind, nil
}

func (d *Desk) absolute(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(d.Dir, p)
}

func (d *Desk) init(args []string) error {
	var k kept
	if _, err := d.parsed(args, 0, "[--keychain | --passphrase | --key-file PATH]", k.flags); err != nil {
		return err
	}
	kind, err := k.holder(keychain)
	if err != nil {
		return err
	}
	return d.keyed(wire.Vault{Do: "init", Holder: kind, Path: d.absolute(k.file)})
}

// keyed does what needs a new passphrase where that is to be the holder.
func (d *Desk) keyed(w wire.Vault) error {
	var pass []byte
	if w.Holder == passphrase {
		var err error
		if pass, err = d.secret("new passphrase of the vault", true); err != nil {
			return err
		}
	}
	if _, err := d.do(w, pass); err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "status"}, nil)
	if err == nil && v.State.Weak != "" {
		d.say("attention: the vault is open to more than you: %s", v.State.Weak)
	}
	return err
}

func (d *Desk) rekey(args []string) error {
	var k kept
	if _, err := d.parsed(args, 0, "[--keychain | --passphrase | --key-file PATH]", k.flags); err != nil {
		return err
	}
	if err := d.ready(); err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "status"}, nil)
	if err != nil {
		return err
	}
	kind, err := k.holder(v.State.Holder)
	if err != nil {
		return err
	}
	return d.keyed(wire.Vault{Do: "rekey", Holder: kind, Path: d.absolute(k.file)})
}

// set is set and rotate.
func (d *Desk) set(args []string) error {
	names, err := d.parsed(args, 1, "SERVICE/KEY; the value is asked for, or read from standard input", nil)
	if err != nil {
		return err
	}
	if _, err := ref.ParseName(names[0]); err != nil {
		return fmt.Errorf("%w: %v", reeve.ErrUsage, err)
	}
	if err := d.ready(); err != nil {
		return err
	}
	switch there, err := d.holds(names[0]); {
	case err != nil:
		return err
	case there && args[0] == "set":
		return fmt.Errorf("%w: the vault holds %s already; reeve vault rotate replaces it", reeve.ErrUsage, names[0])
	case !there && args[0] == "rotate":
		return absent(names[0])
	}
	value, err := d.secret("value of "+names[0], true)
	if err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: args[0], Name: names[0], Origin: "typed"}, value)
	if err == nil {
		d.say("%s; %s%s stands for it", v.Line, ref.Scheme, names[0])
	}
	return err
}

func (d *Desk) get(args []string) error {
	names, err := d.parsed(args, 1, "SERVICE/KEY", nil)
	if err != nil {
		return err
	}
	if err := d.known(names[0]); err != nil {
		return err
	}
	if err := d.Present("vault get", "show"); err != nil {
		return err
	}
	if err := d.ready(); err != nil {
		return err
	}
	c, err := d.Client()
	if err != nil {
		return err
	}
	_, value, err := c.Vault(context.Background(), wire.Vault{Do: "get", Name: names[0]}, nil, true)
	defer ref.Wipe(value)
	if err != nil {
		return err
	}
	if _, err := d.Stdout.Write(value); err != nil {
		return err
	}
	if d.Hidden != nil && !bytes.HasSuffix(value, []byte("\n")) {
		fmt.Fprintln(d.Stderr)
	}
	return nil
}

func (d *Desk) ls(args []string) error {
	asJSON := false
	if _, err := d.parsed(args, 0, "[--json]", func(f *flag.FlagSet) { f.BoolVar(&asJSON, "json", false, "print JSON") }); err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "ls"}, nil)
	if err != nil {
		return err
	}
	if asJSON {
		return d.json(append([]wire.VaultEntry{}, v.Entries...))
	}
	for _, e := range v.Entries {
		fmt.Fprintf(d.Stdout, "%-40s version %-4d %s  %s\n", redact.Visible(e.Name), // a locked vault proves nothing
			e.Version, e.Created.Format(time.DateOnly), redact.Visible(e.Origin))
	}
	return nil
}

func (d *Desk) json(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err == nil {
		_, err = fmt.Fprintf(d.Stdout, "%s\n", b)
	}
	return err
}

func (d *Desk) rm(args []string) error {
	names, err := d.parsed(args, 1, "SERVICE/KEY", nil)
	if err != nil {
		return err
	}
	if err := d.known(names[0]); err != nil {
		return err
	}
	if err := d.ready(); err != nil {
		return err
	}
	_, err = d.do(wire.Vault{Do: "remove", Name: names[0]}, nil)
	return err
}

func (d *Desk) unlock(args []string) error {
	older := false
	if _, err := d.parsed(args, 0, "[--accept-older]", func(f *flag.FlagSet) { f.BoolVar(&older, "accept-older", false, "take an older file as it is") }); err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "status"}, nil)
	if err != nil {
		return err
	}
	return d.open(v.State, older)
}

func (d *Desk) lock(args []string) error {
	if _, err := d.parsed(args, 0, "", nil); err != nil {
		return err
	}
	_, err := d.do(wire.Vault{Do: "lock"}, nil)
	return err
}

func (d *Desk) status(args []string) error {
	asJSON := false
	if _, err := d.parsed(args, 0, "[--json]", func(f *flag.FlagSet) { f.BoolVar(&asJSON, "json", false, "print JSON") }); err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "status"}, nil)
	if err != nil {
		return err
	}
	s := v.State
	if asJSON {
		return d.json(s)
	}
	switch {
	case !s.Exists:
		fmt.Fprintln(d.Stdout, "there is no vault yet; reeve vault init makes one")
		return nil
	case s.Fault != "":
		fmt.Fprintln(d.Stdout, s.Fault)
	case s.Locked:
		fmt.Fprintf(d.Stdout, "locked; its key is kept by: %s\n", s.Holder)
	default:
		fmt.Fprintf(d.Stdout, "open; its key is kept by: %s\n", s.Holder)
	}
	if s.Weak != "" {
		fmt.Fprintf(d.Stdout, "attention: %s\n", s.Weak)
	}
	fmt.Fprintf(d.Stdout, "%s\n", s.File)
	return nil
}

func (d *Desk) export(args []string) error {
	paths, err := d.parsed(args, 1, "FILE", nil)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(d.absolute(paths[0])); err == nil {
		return fmt.Errorf("%w: %s is there already; name a file that is not", reeve.ErrUsage, paths[0])
	}
	if err := d.Present("vault export", "export"); err != nil {
		return err
	}
	if err := d.ready(); err != nil {
		return err
	}
	pass, err := d.secret("new passphrase of the copy", true)
	if err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "export", Path: d.absolute(paths[0])}, pass)
	if err == nil {
		d.say("%s %s; its passphrase opens it, and nothing else does", v.Line, paths[0])
	}
	return err
}

func (d *Desk) take(args []string) error {
	replace := false
	paths, err := d.parsed(args, 1, "[--replace] FILE", func(f *flag.FlagSet) { f.BoolVar(&replace, "replace", false, "replace what is there") })
	if err != nil {
		return err
	}
	if info, err := os.Stat(d.absolute(paths[0])); err != nil {
		return fmt.Errorf("%w: %w; name a copy that reeve vault export made", reeve.ErrUsage, err)
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no file; name a copy that reeve vault export made", reeve.ErrUsage, paths[0])
	}
	if err := d.ready(); err != nil {
		return err
	}
	pass, err := d.secret("passphrase of the copy", false)
	if err != nil {
		return err
	}
	v, err := d.do(wire.Vault{Do: "import", Path: d.absolute(paths[0]), Replace: replace}, pass)
	if err == nil {
		d.say("%s", v.Line)
	}
	return err
}
