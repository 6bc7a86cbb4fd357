// Package filter is reeve redact: it masks the secrets in a file or in what
// comes through a pipe, and tells of each mask where it stood and why. It needs
// no daemon, starts none and writes no file.
package filter

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/reeve-gate/reeve/internal/config"
	"github.com/reeve-gate/reeve/internal/ingress/cmdline"
	"github.com/reeve-gate/reeve/internal/personal"
	"github.com/reeve-gate/reeve/internal/redact"
	"github.com/reeve-gate/reeve/internal/redact/timely"
)

// Usage is the form of the command.
const Usage = "reeve redact [--explain | --json] [--personal | --channel NAME] [FILE | -]"

// Help says what it does.
const Help = `Reads FILE, or standard input, and writes it with every secret masked as the record and the logs of sessions have them masked: by the name before it, by its place in a command, a URL or a header, by the form of more than 300 kinds of tokens, and the values of the variables that redact.secrets names, in their raw, base64, URL, hex and JSON forms. It works as a filter: what cannot become a secret any more goes out at once, what tells nothing of one 50 ms after it came at the latest, and what may be a part of one when it is whole; at most 8 KiB are kept back.

A mask is [REDACTED], or [REDACTED:KIND#ABCD] where the form tells the kind; the four digits are the same for the same token, here and in the record.

--explain says on standard error for each mask where it stood, by which rule and why, and never what. --json reads each line that is a JSON text as one: what a sensitive name holds goes whatever it is, and JSON stays JSON.

--personal also masks e-mail addresses, phone numbers, US social security numbers, payment cards, IBANs and public addresses as [PII REDACTED]; --channel does so if the settings say so for that channel (redact.personal). These take each line as a whole, and so wait for its end.

It starts no daemon and writes no file. What has none of these signs stays as it is: look before you publish.`

// World is what the filter may know of the world outside its arguments.
type World struct {
	In       io.Reader
	Out, Say io.Writer
	Dir      string // working directory, absolute
	Getenv   func(string) string
}

// Bad is a command line that cannot be read.
type Bad struct{ error }

// Run masks one file, or standard input, as args say.
func Run(env World, args []string) error {
	f := flag.NewFlagSet("redact", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	explain := f.Bool("explain", false, "")
	asJSON := f.Bool("json", false, "")
	people := f.Bool("personal", false, "")
	channel := f.String("channel", "", "")
	switch err := f.Parse(args); {
	case err != nil:
		return Bad{fmt.Errorf("redact: %s; %s", cmdline.Said(err.Error()), Usage)}
	case f.NArg() > 1:
		return Bad{fmt.Errorf("redact: one file at a time; %s", Usage)}
	case *explain && *asJSON:
		return Bad{errors.New("redact: --explain tells places in the text, which --json does not read as one; give one of the two")}
	}
	r, conf, err := redactor(env)
	if err != nil {
		return err
	}
	name, in := "-", env.In
	if f.NArg() == 1 && f.Arg(0) != "-" {
		name = f.Arg(0)
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(env.Dir, path)
		}
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("redact: %w", err)
		}
		defer file.Close()
		in = file
	}
	out := keepOpen(env.Out)
	if *people || *channel != "" && conf.Outward(*channel) {
		out = personal.Writer(out)
	}
	switch {
	case *asJSON:
		err = lines(r, out, in)
	case *explain:
		where := &places{name: name, say: env.Say}
		err = through(r.ExplainWriter(out, where.tell), io.TeeReader(in, where))
	default:
		err = through(r.Writer(out), in)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("redact %s: %w", name, err)
	}
	return nil
}

// keepOpen is w that is not closed.
func keepOpen(w io.Writer) io.WriteCloser { return kept{w} }

type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// redactor knows the values that the settings name.
func redactor(env World) (*redact.Redactor, *config.Config, error) {
	paths, err := config.Dirs(env.Getenv)
	if err != nil {
		return nil, nil, err
	}
	conf, err := config.Load(paths.Config)
	if err != nil {
		return nil, nil, err
	}
	r := redact.New()
	for _, name := range conf.Redact.Secrets {
		v := env.Getenv(name)
		if v == "" {
			fmt.Fprintf(env.Say, "reeve: redact.secrets: variable %s is not set here, so that nothing is masked for it\n", name)
			continue
		}
		if err := r.AddSecret(v); err != nil {
			return nil, nil, fmt.Errorf("redact.secrets: variable %s: %w", name, err)
		}
	}
	return r, conf, nil
}

// through sends all of in through s, whose reader is not kept waiting.
func through(s *redact.Stream, in io.Reader) error {
	w := &turns{}
	w.to = timely.New(s, &w.mu, nil)
	_, err := io.Copy(w, struct{ io.Reader }{in})
	return errors.Join(err, w.Close())
}

// turns takes the calls of a masking writer one by one.
type turns struct {
	mu sync.Mutex
	to *timely.Writer
}

func (w *turns) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (w *turns) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Close()
}

// lines masks each line by itself.
func lines(r *redact.Redactor, out io.Writer, in io.Reader) error {
	b := bufio.NewReader(in)
	for {
		line, err := b.ReadBytes('\n')
		body := bytes.TrimSuffix(line, []byte("\n"))
		if _, werr := out.Write(append(bytes.Clone(r.JSON(body)), line[len(body):]...)); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// places tells where in a text a mask stood. It is written the text.
type places struct {
	name  string
	say   io.Writer
	at    int   // bytes seen
	ends  []int // of lines that were not passed yet
	lines int   // that were
}

func (p *places) Write(b []byte) (int, error) {
	for i, c := range b {
		if c == '\n' {
			p.ends = append(p.ends, p.at+i)
		}
	}
	p.at += len(b)
	return len(b), nil
}

func (p *places) tell(f redact.Finding) {
	passed := sort.SearchInts(p.ends, f.At)
	p.lines, p.ends = p.lines+passed, p.ends[passed:]
	fmt.Fprintf(p.say, "%s:%d: offset %d, %d bytes: %s: %s\n", p.name, p.lines+1, f.At, f.End-f.At, f.Mark, f.Why())
}
