// Package config says where Reeve keeps things and holds the few settings a
// person may change.
//
// The settings live in config.toml in the configuration directory. The file
// is TOML; an unknown key is refused with its line and column; a key that is
// absent has the default written in the doc tag of its field below, which is
// also the manual ([Manual]). The file must belong to the person (or root)
// and must not be writable by group or others.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	toml "github.com/pelletier/go-toml/v2"

	"github.com/reeve-gate/reeve/internal/netguard"
)

// Paths are the directories of one installation, absolute.
type Paths struct {
	Config string // config.toml, policy.toml
	State  string // audit.db, sessions/, the sockets
	Data   string // what add-ons and skills bring
	Home   string // the person's home directory
	Work   string // checkouts of sessions; beside Data and not in it, since all of Reeve's own is hidden from sessions
}

// Dirs finds the directories: below REEVE_HOME where that is set, else below
// the XDG base directories, else in the home directory. Relative values are
// refused.
func Dirs(getenv func(string) string) (Paths, error) {
	home := getenv("HOME")
	if home == "" || !filepath.IsAbs(home) {
		return Paths{}, fmt.Errorf("HOME is %q: set it to the absolute path of your home directory", home)
	}
	home = filepath.Clean(home)
	if root := getenv("REEVE_HOME"); root != "" {
		if !filepath.IsAbs(root) {
			return Paths{}, fmt.Errorf("REEVE_HOME is %q: it must be an absolute path", root)
		}
		root = filepath.Clean(root)
		return Paths{filepath.Join(root, "config"), filepath.Join(root, "state"), filepath.Join(root, "data"), home, filepath.Join(root, "checkouts")}, nil
	}
	under := func(env, fallback string) string {
		base := getenv(env)
		if base == "" || !filepath.IsAbs(base) { // the XDG base directory specification: ignore a relative value
			base = filepath.Join(home, fallback)
		}
		return filepath.Join(base, "reeve")
	}
	return Paths{under("XDG_CONFIG_HOME", ".config"), under("XDG_STATE_HOME", ".local/state"), under("XDG_DATA_HOME", ".local/share"), home, under("XDG_DATA_HOME", ".local/share") + "-checkouts"}, nil
}

// Config is every setting. The doc tags are the manual.
type Config struct {
	Gate struct {
		Mode         string `toml:"mode" default:"default" doc:"mode of a new session: plan, auto or default. dangerous is refused here (G56)."`
		HookDeadline string `toml:"hook_deadline" default:"570s" doc:"a hook is answered at the latest after this time, with deny if need be; at most 590s."`
		MaxCalls     int    `toml:"max_calls" default:"10000" doc:"calls one session may make before everything in it is denied."`
		MaxDepth     int    `toml:"max_depth" default:"8" doc:"how deep calls may nest."`
	} `toml:"gate"`
	Approval struct {
		Unattended  string `toml:"unattended" default:"wait" doc:"wait: a question from a hook or a run stands until its deadline and can be answered from any terminal. deny: nobody watching means deny at once."`
		Elicitation string `toml:"elicitation" default:"answer" doc:"answer: an MCP client that can ask its person is given the question too, and the first answer wins, except from inside a session's boundary. off: only Reeve's own faces answer."`
		Deadline    string `toml:"deadline" default:"9m" doc:"how long a question stands; then it is a denial (A53). At most 24h."`
	} `toml:"approval"`
	Sandbox struct {
		Engine    string   `toml:"engine" default:"auto" doc:"what builds the boundary: auto takes native (namespaces of our own) where it holds here, else bwrap (bubblewrap), and on macOS seatbelt; one by its name is taken or nothing runs. landlock, by its name only, is a reduced one for a Linux that refuses user namespaces: it holds the profiles strict and read-only, and reeve doctor says what it does not hold."`
		Profile   string   `toml:"profile" default:"agent" doc:"profile of reeve run where none is named."`
		Write     []string `toml:"write" doc:"further directories every run may write; never / or the home directory itself."`
		Checkouts string   `toml:"checkouts" doc:"directory for the checkouts of reeve run --worktree; none = ~/.local/share/reeve-checkouts, or $REEVE_HOME/checkouts."`
		PassEnv   []string `toml:"pass_env" doc:"names of environment variables passed into the sandbox although they look like secrets."`

		Profiles map[string]Profile `toml:"profiles" doc:"profiles of your own, each a table [sandbox.profiles.NAME]. like names the built-in one that it begins from (agent, build, strict, read-only); net is none, ask or open; hosts are reached without a question, as in --allow-host; write, pass_env, memory, processes and processors as here, for runs in this profile; read_only = true makes the workspace read-only. reeve config explain sandbox prints the outcome."`

		Memory     string `toml:"memory" doc:"memory one run may use, such as 4GiB: of the whole tree where a control group can be made, else of each process; the receipt says what was not held."`
		Processes  int    `toml:"processes" default:"0" doc:"processes and threads one run may have at a time; 0 = no bound of ours."`
		Processors string `toml:"processors" doc:"processors one run may keep busy, such as 1.5; needs a control group."`
	} `toml:"sandbox"`
	Egress struct {
		Hosts map[string]string `toml:"hosts" doc:"names and the address that each stands for in the network of reeve run, as in hosts.\"db.internal\" = \"10.0.0.7\"; with a port, that one is dialled whatever port is asked for. A pin is the one way for a name to lead to this machine or its network. The name still needs a rule."`
	} `toml:"egress"`
	Remote struct {
		SSHOptions []string `toml:"ssh_options" doc:"options of ssh for reeve run --host, each Name=value as in ssh_config(5); they come before Reeve's own, such as BatchMode=yes."`
	} `toml:"remote"`
	Audit struct {
		Keep    string   `toml:"keep" doc:"rows older than this, such as 400d, are pruned once a day, where the record is signed; at least 1d. none = every row is kept. A person does the same with reeve audit prune."`
		Publish []string `toml:"publish" doc:"where signed checkpoints of the record are kept too: the absolute path of a directory or a file, best on another medium; https://HOST/PATH, which is sent each one; or witness KEY https://HOST, a tlog-witness, which signs each one. What cannot be reached holds up nothing; reeve status tells how far each is."`

		IntentTimeout string `toml:"intent_timeout" default:"10s" doc:"an intent that is not durable within this time is a denial."`
	} `toml:"audit"`
	Redact struct {
		Secrets []string `toml:"secrets" doc:"names of environment variables whose values are masked wherever they appear, as they are set where the daemon is started from."`

		Personal map[string]bool `toml:"personal" doc:"channels by name, and whether e-mail addresses, phone numbers, social security numbers, cards, IBANs and public addresses become [PII REDACTED] in what goes out by them, as in personal.\"messaging:telegram\" = false. A name before a colon stands for all that begin with it. messaging is on unless it is set here, every other off."`
	} `toml:"redact"`
	Telemetry struct {
		Endpoint     string            `toml:"endpoint" doc:"address of an OpenTelemetry collector to which the daemon sends the record as it is written, such as https://collector.example.com:4318; /v1/logs and /v1/traces are added to it. It begins with what is recorded from then on, goes on where it was after an outage, and is never waited for. http is spoken to this machine alone; a collector in a private network is written as an address with its port, or its name is pinned under egress.hosts. Without one nothing is sent."`
		Headers      map[string]string `toml:"headers" doc:"headers that are sent along, as in headers.Authorization = \"Bearer ${reeve://otel/token}\"; what refers to the vault is asked for at each request."`
		Signals      []string          `toml:"signals" doc:"what is sent: logs (a record for each row), traces (a span for each call), or both; none = both."`
		Content      bool              `toml:"content" default:"false" doc:"true sends arguments and summaries of results along, masked as the record has them."`
		Metrics      string            `toml:"metrics" doc:"address of this machine alone on which the daemon serves metrics to Prometheus, such as 127.0.0.1:9464, at /metrics. Every process of this machine can read them there. Without one nothing is served."`
		MetricsToken string            `toml:"metrics_token" doc:"reference to the vault, such as reeve://prometheus/token: who asks for the metrics must carry it as a bearer token."`
	} `toml:"telemetry"`

	file string
}

// Profile is a sandbox profile of the person's own.
type Profile struct {
	Like       string   `toml:"like"`
	Net        string   `toml:"net"`
	Hosts      []string `toml:"hosts"`
	Write      []string `toml:"write"`
	PassEnv    []string `toml:"pass_env"`
	ReadOnly   bool     `toml:"read_only"`
	Memory     string   `toml:"memory"`
	Processes  int      `toml:"processes"`
	Processors string   `toml:"processors"`
}

// Outward reports whether what identifies a person is masked in what goes out
// by a channel, such as messaging:telegram or export (contract G66).
func (c *Config) Outward(channel string) bool {
	for name := channel; ; {
		if on, ok := c.Redact.Personal[name]; ok {
			return on
		}
		i := strings.LastIndexByte(name, ':')
		if i < 0 {
			return name == "messaging"
		}
		name = name[:i]
	}
}

// MaxFile bounds config.toml, in bytes.
const MaxFile = 256 << 10

// Load reads config.toml in dir. A file that does not exist gives the
// defaults; every other fault is an error that names the file and the place.
func Load(dir string) (*Config, error) {
	file := filepath.Join(dir, "config.toml")
	src, err := ReadOwned(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(file, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return Parse(file, src)
}

// Stale says what stands in dir by now and is not what c was read from: nothing
// where it is the same.
func (c *Config) Stale(dir string) []string {
	now, err := Load(dir)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("the settings cannot be read, and those that the daemon began with hold: %v", err)}
	case !reflect.DeepEqual(now, c):
		return []string{"config.toml was changed after the daemon began, which goes on with what stood there: reeve down, and the next command begins with the new settings"}
	}
	return nil
}

// Parse reads the text of a settings file; file is its name for errors.
func Parse(file string, src []byte) (*Config, error) {
	if len(src) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes; at most %d are read", file, len(src), MaxFile)
	}
	c := &Config{file: file}
	setDefaults(reflect.ValueOf(c).Elem())
	dec := toml.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(c); err != nil {
		return nil, positioned(file, err)
	}
	return c, c.check()
}

func positioned(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, col := strict.Errors[0].Position()
		return fmt.Errorf("%s:%d:%d: unknown key %q; see reeve config explain", file, row, col, strings.Join(strict.Errors[0].Key(), "."))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, col := bad.Position()
		return fmt.Errorf("%s:%d:%d: %s", file, row, col, bad.Error())
	}
	return fmt.Errorf("%s: %w", file, err)
}

func (c *Config) check() error {
	switch c.Gate.Mode {
	case "plan", "auto", "default":
	case "dangerous":
		return fmt.Errorf("%s: gate.mode: dangerous mode is never set by configuration; it is chosen for one session, by typing a phrase", c.file)
	default:
		return fmt.Errorf("%s: gate.mode is %q; it is one of plan, auto, default", c.file, c.Gate.Mode)
	}
	if e := c.Approval.Elicitation; e != "answer" && e != "off" {
		return fmt.Errorf("%s: approval.elicitation is %q; it is answer or off", c.file, e)
	}
	switch c.Approval.Unattended {
	case "wait", "deny":
	default:
		return fmt.Errorf("%s: approval.unattended is %q; it is wait or deny", c.file, c.Approval.Unattended)
	}
	switch c.Sandbox.Engine {
	case "auto", "native", "bwrap", "landlock", "seatbelt":
	default:
		return fmt.Errorf("%s: sandbox.engine is %q; it is one of auto, native, bwrap, landlock, seatbelt", c.file, c.Sandbox.Engine)
	}
	if _, err := c.Pins(); err != nil {
		return err
	}
	for _, s := range c.Telemetry.Signals {
		if s != "logs" && s != "traces" {
			return fmt.Errorf("%s: telemetry.signals has %q; it is logs, traces or both", c.file, s)
		}
	}
	if c.Gate.MaxCalls < 1 || c.Gate.MaxDepth < 1 || c.Gate.MaxDepth > 64 {
		return fmt.Errorf("%s: gate.max_calls must be at least 1 and gate.max_depth between 1 and 64", c.file)
	}
	for _, d := range []struct {
		key, value string
		min, max   time.Duration
	}{
		{"gate.hook_deadline", c.Gate.HookDeadline, 100 * time.Millisecond, 590 * time.Second},
		{"approval.deadline", c.Approval.Deadline, time.Second, 24 * time.Hour},
		{"audit.intent_timeout", c.Audit.IntentTimeout, time.Second, time.Minute},
	} {
		v, err := time.ParseDuration(d.value)
		if err != nil {
			return fmt.Errorf("%s: %s is %q; write a duration such as 90s or 9m", c.file, d.key, d.value)
		}
		if v < d.min || v > d.max {
			return fmt.Errorf("%s: %s is %s; it must lie between %s and %s", c.file, d.key, d.value, d.min, d.max)
		}
	}
	if _, err := Keep(c.Audit.Keep); err != nil {
		return fmt.Errorf("%s: audit.keep: %w", c.file, err)
	}
	if _, _, _, err := Limits(c.Sandbox.Memory, c.Sandbox.Processes, c.Sandbox.Processors); err != nil {
		return fmt.Errorf("%s: sandbox.%w", c.file, err)
	}
	return nil
}

// Size reads a number of bytes: a whole number, alone or with one of the units
// KiB, MiB, GiB, TiB (IEC 80000-13). The empty text is 0.
func Size(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits, shift := s, 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if d, ok := strings.CutSuffix(s, unit); ok {
			digits, shift = strings.TrimSpace(d), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("%q is no size; write a whole number of bytes, or one with KiB, MiB, GiB or TiB, such as 4GiB", s)
	}
	return n << shift, nil
}

// Processors reads how many processors, and returns thousandths of one. The
// empty text is 0.
func Processors(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0.01 && f <= 4096) {
		return 0, fmt.Errorf("%q is no number of processors; write one between 0.01 and 4096, such as 1.5", s)
	}
	return int64(f * 1000), nil
}

// minMemory is the least that a program of today starts with.
const minMemory = 16 << 20

// Limits checks bounds on a run as they stand in the settings, and reads them:
// bytes, processes, thousandths of a processor.
func Limits(memory string, processes int, processors string) (bytes, tasks, milli int64, err error) {
	if bytes, err = Size(memory); err != nil {
		return 0, 0, 0, fmt.Errorf("memory: %w", err)
	}
	if bytes > 0 && bytes < minMemory {
		return 0, 0, 0, fmt.Errorf("memory is %s; at least 16MiB are needed to start a program", memory)
	}
	if processes != 0 && processes < 4 {
		return 0, 0, 0, fmt.Errorf("processes is %d; it is 0 or at least 4", processes)
	}
	if milli, err = Processors(processors); err != nil {
		return 0, 0, 0, fmt.Errorf("processors: %w", err)
	}
	return bytes, int64(processes), milli, nil
}

// Keep reads how long something is kept: whole days as in 90d, or a duration as
// in 36h; at least one day and at most 36500. The empty text is 0: for ever.
func Keep(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	const day = 24 * time.Hour
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n >= 0 && n <= 36500 {
			d = time.Duration(n) * day
		}
	}
	if err != nil || d < day || d > 36500*day {
		return 0, fmt.Errorf("%q is not how long something is kept; write days, such as 90d, or hours; at least 1d and at most 36500d", s)
	}
	return d, nil
}

// Pins are egress.hosts, read.
func (c *Config) Pins() (map[string]netip.AddrPort, error) {
	pins := make(map[string]netip.AddrPort, len(c.Egress.Hosts))
	for name, address := range c.Egress.Hosts {
		host, to, err := netguard.Pin(name, address)
		if err != nil {
			return nil, fmt.Errorf("%s: egress.hosts: %w", c.file, err)
		}
		pins[host] = to
	}
	return pins, nil
}

// Duration reads a duration that Parse has checked.
func Duration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

func setDefaults(v reflect.Value) {
	each(v, "", func(_ string, f reflect.StructField, v reflect.Value) {
		def := f.Tag.Get("default")
		switch {
		case def == "":
		case v.Kind() == reflect.String:
			v.SetString(def)
		case v.Kind() == reflect.Int:
			var n int
			fmt.Sscan(def, &n)
			v.SetInt(int64(n))
		}
	})
}

// each calls f for every setting, in the order of the struct.
func each(v reflect.Value, prefix string, f func(key string, field reflect.StructField, v reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		key := field.Tag.Get("toml")
		switch {
		case key == "":
		case field.Type.Kind() == reflect.Struct:
			each(v.Field(i), prefix+key+".", f)
		default:
			f(prefix+key, field, v.Field(i))
		}
	}
}

// Setting is one line of reeve config explain.
type Setting struct{ Key, Value, Default, Doc string }

// Settings lists every setting with its value and its default.
func (c *Config) Settings() []Setting {
	var all []Setting
	each(reflect.ValueOf(c).Elem(), "", func(key string, f reflect.StructField, v reflect.Value) {
		value := fmt.Sprint(v.Interface())
		if v.Kind() == reflect.Map {
			value = strings.TrimSuffix(strings.TrimPrefix(value, "map["), "]") // in the order of its keys
		}
		all = append(all, Setting{key, value, f.Tag.Get("default"), f.Tag.Get("doc")})
	})
	return all
}

// Manual is docs/config.md: every setting, from the struct itself.
func Manual() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n`config.toml` in the configuration directory (`~/.config/reeve`, or `$REEVE_HOME/config`). Unknown keys are refused with their line and column. `reeve config explain` prints each value and where it comes from. The daemon reads them when it begins: after a change, `reeve down`, and the next command begins with the new ones; until then `reeve status` says so. This page is generated from `internal/config`.\n\n| key | default | meaning |\n|---|---|---|\n")
	for _, s := range new(Config).Settings() {
		def := s.Default
		if def == "" {
			def = "none"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", s.Key, def, s.Doc)
	}
	return b.String()
}

// ReadOwned reads a file that a person keeps, refusing one that others could
// have written and one above [MaxFile].
func ReadOwned(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != uint32(os.Getuid()) && st.Uid != 0 {
		return nil, fmt.Errorf("%s belongs to user %d: it must belong to you or to root", file, st.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s may be written by others (mode %04o): run chmod go-w on it", file, info.Mode().Perm())
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes; at most %d are read", file, info.Size(), MaxFile)
	}
	return os.ReadFile(file)
}
