package use

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/reeve-gate/reeve"
	"github.com/reeve-gate/reeve/internal/shellread/table"
	"github.com/reeve-gate/reeve/internal/shellread/words"
)

// host notes the host of a word that is an address.
func (r *reading) host(w words.Word) {
	lead := w.Lead
	switch {
	case strings.HasPrefix(lead, "+"): // an option of dig
		return
	case strings.HasPrefix(lead, "@"): // its server
		w = w.From(1)
	}
	if scheme, rest, ok := strings.Cut(lead, "://"); ok && strings.EqualFold(scheme, "file") {
		path := words.Plain(rest)
		path.Known = w.Certain()
		r.file(path, 'r', false)
		return
	}
	r.Hosts = append(r.Hosts, address(w))
}

// address reads [SCHEME://][USER@]HOST[:PORT][/...]. The host counts only if
// it is certain: written out, with what ends it.
func address(w words.Word) Host {
	s, rest := w.Lead, ""
	scheme, after, ok := strings.Cut(s, "://")
	if ok {
		s = after
	} else {
		scheme = ""
	}
	end := strings.IndexAny(s, "/?#\\")
	if end >= 0 {
		s, rest = s[:end], s[end:]
	}
	if !w.Certain() && rest == "" || strings.ContainsAny(s, "{}[]*,") && !strings.HasPrefix(s, "[") || strings.HasPrefix(rest, "\\") {
		return Host{}
	}
	s = s[strings.LastIndexByte(s, '@')+1:]
	u, err := url.Parse("x://" + s + "/")
	if err != nil || u.Hostname() == "" {
		return Host{}
	}
	h := Host{Name: strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))}
	h.Port, _ = strconv.Atoi(u.Port())
	if h.Port == 0 {
		h.Port = map[string]int{"http": 80, "https": 443, "ftp": 21, "ssh": 22, "git": 9418, "ws": 80, "wss": 443}[strings.ToLower(scheme)]
	}
	return h
}

// remoteHost reads the forms of an address that git, scp and rsync take:
// a URL, or [USER@]HOST:PATH. ok is false for a path or a name.
func remoteHost(w words.Word) (Host, bool) {
	if strings.Contains(w.Lead, "://") {
		if strings.HasPrefix(strings.ToLower(w.Lead), "file:") {
			return Host{}, false
		}
		return address(w), true
	}
	colon := strings.IndexByte(w.Lead, ':')
	if colon <= 0 || strings.IndexByte(w.Lead[:colon], '/') >= 0 || colon == 1 && len(w.Lead) > 2 && w.Lead[2] == '\\' {
		return Host{}, !w.Known && (w.Lead == "" || strings.IndexByte(w.Lead, '/') < 0)
	}
	name := w.Lead[:colon]
	return Host{Name: strings.ToLower(name[strings.LastIndexByte(name, '@')+1:]), Port: 22}, true
}

// curl: the body's @FILE is read, a method other than GET changes something.
func (r *reading) curl() {
	_, get := r.u.Flag("-G", "--get")
	if get && r.p.Name == "curl" {
		r.Marks &^= reeve.CommandExternal
		r.External = ""
	}
	for _, f := range r.u.Flags {
		switch {
		case f.Effect.Has(table.Method):
			r.method(f)
		case f.Effect.Has(table.Outside) && f.Has:
			r.upload(f.Value)
		case f.Name == "-b" || f.Name == "--cookie" || f.Name == "-H" || f.Name == "--header" || f.Name == "-w" || f.Name == "--write-out":
			if strings.HasPrefix(f.Value.Lead, "@") {
				r.file(f.Value.From(1), 'r', false)
			}
		}
	}
	if r.name != "curl" {
		r.httpie()
		return
	}
	_, o := r.u.Flag("-O", "--remote-name")
	_, all := r.u.Flag("--remote-name-all")
	if o || all {
		_, j := r.u.Flag("-J", "--remote-header-name")
		for _, w := range r.u.Operands {
			r.download(w, j)
		}
	}
}

// httpie: METHOD URL, and words that send data.
func (r *reading) httpie() {
	ops := r.u.Operands
	if len(ops) > 0 && ops[0].Certain() && strings.ToUpper(ops[0].Text) == ops[0].Text && !strings.ContainsAny(ops[0].Text, ".:/") {
		if len(r.Hosts) > 0 {
			r.Hosts = r.Hosts[1:]
		}
		if ops[0].Text != "GET" && ops[0].Text != "HEAD" {
			r.sends("method " + ops[0].Text)
		}
		ops = ops[1:]
	}
	if len(ops) > 1 && strings.HasPrefix(r.name, "h") {
		r.sends("data")
		r.Hosts = r.Hosts[:min(1, len(r.Hosts))]
	}
}

func (r *reading) sends(what string) {
	r.because(reeve.CommandExternal, r.name+" sends "+what)
	if r.External == "" {
		r.External = r.name + " sends " + what
	}
}

func (r *reading) method(f table.Given) {
	if f.Has && f.Value.Certain() {
		switch strings.ToUpper(f.Value.Text) {
		case "GET", "HEAD", "OPTIONS":
			return
		}
	}
	r.sends("method " + f.Value.Text)
}

// upload: @FILE, name=@FILE, name=<FILE.
func (r *reading) upload(w words.Word) {
	for _, mark := range []string{"@", "=@", "=<"} {
		at := strings.Index(w.Lead, mark)
		if at == 0 && mark == "@" || at > 0 && mark != "@" {
			path := w.From(at + len(mark))
			if name, _, more := strings.Cut(path.Text, ";"); more && path.Known {
				path = words.Plain(name)
			}
			r.file(path, 'r', false)
			return
		}
	}
}

// download: the file takes the last part of the address as its name.
func (r *reading) download(w words.Word, renamed bool) {
	name := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	if i := strings.IndexAny(name, "?#"); i >= 0 {
		name = name[:i]
	}
	if renamed || !w.Certain() || name == "" || strings.ContainsAny(name, "{}[]%\\") || !strings.Contains(w.Text, "/") || strings.HasSuffix(w.Text, "://"+name) {
		r.Files = append(r.Files, File{Path: words.Unknown("a file that is named by the address"), Role: 'w'})
		return
	}
	r.file(words.Plain(name), 'w', false)
}

// wget writes what it fetches unless told otherwise.
func (r *reading) wget() {
	for _, f := range r.u.Flags {
		switch f.Name {
		case "--method":
			r.method(f)
		case "--post-file", "--body-file", "-O", "--output-document", "--spider", "-P", "--directory-prefix":
			if f.Name != "--post-file" && f.Name != "--body-file" {
				return
			}
		}
	}
	r.because(reeve.CommandWritesFile, "wget writes what it fetches")
	for _, w := range r.u.Operands {
		r.download(w, false)
	}
}

// quietSettings are options of ssh -o that start nothing.
var quietSettings = map[string]bool{
	"stricthostkeychecking": true, "userknownhostsfile": true, "globalknownhostsfile": true, "connecttimeout": true, "batchmode": true, "identitiesonly": true, "serveraliveinterval": true,
	"serveralivecountmax": true, "loglevel": true, "port": true, "user": true, "passwordauthentication": true, "pubkeyauthentication": true, "preferredauthentications": true, "compression": true,
	"requesttty": true, "connectionattempts": true, "tcpkeepalive": true, "forwardagent": true, "addressfamily": true, "numberofpasswordprompts": true, "exitonforwardfailure": true, "identityfile": true,
	"checkhostip": true, "hostkeyalgorithms": true, "pubkeyacceptedalgorithms": true, "kexalgorithms": true, "ciphers": true, "macs": true, "controlmaster": true, "controlpersist": true, "visualhostkey": true,
}

// ssh OPTIONS HOST OPTIONS COMMAND: the words after the host are shell text
// for the other machine.
func (r *reading) ssh() {
	first := *r.p
	first.Attr |= table.FirstEnds
	r.Marks &^= reeve.CommandRunsProgram | reeve.CommandUnknownWords
	r.Why, r.Hosts, r.Files, r.Inner = "", nil, nil, nil
	r.because(reeve.CommandLeaves, "ssh runs on another machine")
	at := r.at
	for pass := range 2 {
		u := first.Parse(r.ws[at:])
		for i := range u.Flags {
			r.sshFlag(&u.Flags[i])
		}
		if u.Strange != "" {
			r.unknown("cannot tell which words ssh sends: option " + u.Strange)
			return
		}
		if u.Loose {
			r.because(reeve.CommandUnknownWords, "a word of ssh could become an option")
		}
		at += u.Rest
		if at >= len(r.ws) {
			break
		}
		if pass == 0 {
			if w := r.ws[at]; w.MayBeFlag() {
				r.because(reeve.CommandUnknownWords, "the host of ssh is not certain")
				r.unknown("cannot tell which words ssh sends: " + w.Text)
				return
			}
			h := address(r.ws[at])
			if h.Port == 0 && h.Name != "" {
				h.Port = 22
			}
			r.Hosts = append(r.Hosts, h)
			at++
		}
	}
	if at < len(r.ws) {
		r.because(reeve.CommandRunsProgram, "ssh runs the text in its words")
		r.textFrom(at)
		return
	}
	r.Fed = true // a shell there reads its input
}

func (r *reading) sshFlag(f *table.Given) {
	if f.Name != "-o" {
		r.flag(f)
		return
	}
	key, _, _ := strings.Cut(strings.ReplaceAll(f.Value.Text, " ", "="), "=")
	if !f.Value.Certain() || !quietSettings[strings.ToLower(key)] {
		r.because(reeve.CommandRunsProgram, "ssh -o "+key+" may start a program")
	}
}

// remoteCopy: scp, sftp and rsync copy to the last operand.
func (r *reading) remoteCopy() {
	ops := r.u.Operands
	if r.u.Effects().Has(table.NotReading) {
		for _, f := range r.u.Flags {
			if strings.HasPrefix(f.Name, "--delete") || f.Name == "--remove-source-files" {
				r.because(reeve.CommandDestructive, f.Name+" deletes files")
			}
		}
	}
	for _, f := range r.u.Flags {
		switch {
		case r.name == "rsync":
		case f.Name == "-o":
			r.sshFlag(&f)
		case f.Name == "-S":
			r.because(reeve.CommandRunsProgram, r.name+" -S names a program to start")
		}
	}
	r.Files = nil
	for i, w := range ops {
		h, remote := remoteHost(w)
		last := i == len(ops)-1 && (len(ops) > 1)
		switch {
		case remote:
			r.Hosts = append(r.Hosts, h)
			if last || r.name == "sftp" {
				r.because(reeve.CommandExternal, r.name+" copies to another machine")
				r.External = joined(r.ws)
			}
		case last:
			r.file(w, 'w', true)
		default:
			r.file(w, 'r', true)
		}
	}
}

// netcat: HOST PORT, a socket by path, and socat's addresses.
func (r *reading) netcat() {
	r.Hosts = nil
	ops := r.u.Operands
	_, unix := r.u.Flag("-U")
	if _, scans := r.u.Flag("-z"); scans && r.name != "socat" { // looks whether a port is open
		r.Marks &^= reeve.CommandExternal
		r.External, r.Why = "", ""
	}
	switch {
	case r.name == "socat":
		for _, w := range ops {
			kind, rest, _ := strings.Cut(w.Text, ":")
			kind = strings.ToUpper(kind)
			switch {
			case strings.HasPrefix(kind, "EXEC"), strings.HasPrefix(kind, "SYSTEM"), strings.HasPrefix(kind, "SHELL"):
				r.because(reeve.CommandRunsProgram, "socat "+kind+" starts a program")
				r.Inner = append(r.Inner, Inner{Text: words.Plain(strings.SplitN(rest, ",", 2)[0]), Lost: true, Wrapper: reeve.Wrapper{Name: r.name, Text: r.name}})
			case strings.HasPrefix(kind, "UNIX"), strings.HasPrefix(kind, "ABSTRACT"), kind == "OPEN", kind == "FILE", kind == "CREATE", kind == "GOPEN", kind == "PIPE":
				r.file(words.Plain(strings.SplitN(rest, ",", 2)[0]), 'w', false)
			case strings.HasPrefix(kind, "TCP"), strings.HasPrefix(kind, "UDP"), strings.HasPrefix(kind, "OPENSSL"), strings.HasPrefix(kind, "SSL"), strings.HasPrefix(kind, "SCTP"):
				r.Hosts = append(r.Hosts, address(words.Plain(rest)))
			}
		}
	case unix && len(ops) > 0:
		r.file(ops[0], 'w', false)
	case len(ops) > 0:
		h := address(ops[0])
		if len(ops) > 1 && ops[1].Certain() && h.Port == 0 {
			h.Port, _ = strconv.Atoi(ops[1].Text)
		}
		r.Hosts = append(r.Hosts, h)
	}
}
