// Package command knows the programs that are given a secret on their command
// line, and which word of the line it is (contract G33).
//
// A word is secret by the program and the flag before it (docker login -p X),
// behind a flag in the same word (mysql -pX), or by its place (htpasswd -b
// file user X). Flags whose name says what they carry, as --password does, are
// not listed: the names of package name find those for any program.
//
// It knows words, not shells: quotes are heeded only to tell where a command
// ends.
package command

import (
	"slices"
	"strings"
	"sync"
)

// Part says which part of a word is secret.
type Part uint8

const (
	None         Part = iota
	Whole             // X
	AfterColon        // user:X
	AfterPercent      // user%X
	AfterPass         // pass:X, beside env:NAME, file:PATH, fd:N and stdin
)

// table has a row for each program: its names (mysql* = and what begins so),
// the word that must follow, then the flags. A flag as it is stands before the
// secret word, -p+ also in the same word, -p! only in the same word. All are
// from the programs' own manuals.
const table = `
docker podman nerdctl buildah skopeo oras crane | login | whole: -p
helm oc cf az argocd                            | login | whole: -p
sshpass                                         |       | whole: -p+
mysql* mariadb*                                 |       | whole: -p!
curl                                            |       | colon: -u+ -U+ --user --proxy-user
curl                                            |       | whole: --pass --proxy-pass
http https xh xhs                               |       | colon: -a
openssl                                         |       | whole: -k -K -hmac
openssl                                         |       | pass: -pass -passin -passout -password
keytool jarsigner                               |       | whole: -storepass -keypass -srcstorepass -deststorepass -srckeypass -destkeypass
redis-cli valkey-cli                            |       | whole: -a --pass
ldapsearch ldapadd ldapmodify ldapdelete        |       | whole: -w
ldapcompare ldapmodrdn ldapwhoami               |       | whole: -w
ldappasswd                                      |       | whole: -w -a -s
smbclient rpcclient smbget smbcacls             |       | percent: -U+ --user
mongo mongosh mongodump mongorestore            |       | whole: -p
mongoexport mongoimport mongostat mongotop      |       | whole: -p
sqlcmd bcp tsql                                 |       | whole: -P+
zip unzip zipcloak mosquitto_pub mosquitto_sub  |       | whole: -P
ipmitool                                        |       | whole: -P
7z 7za 7zr 7zz rar unrar                        |       | whole: -p!
ssh-keygen                                      |       | whole: -N -P
useradd usermod rdesktop                        |       | whole: -p
`

// group is the programs that take one flag in one way.
type group struct {
	programs map[string]bool
	begins   []string // beginnings of their names
	verb     string
	part     Part
	apart    bool // the secret is the next word
	glued    bool // the secret stands in the same word
	bundle   bool // other flags may stand before it in the same word
}

// read reads the table at the first use: its groups by their flag, with its
// dashes, and the names of all programs by their first byte.
var read = sync.OnceValues(func() (byFlag map[string][]*group, names *[256][]string) {
	parts := map[string]Part{"whole": Whole, "colon": AfterColon, "percent": AfterPercent, "pass": AfterPass}
	all := map[string][]*group{}
	var first [256][]string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 3 {
			continue
		}
		kind, flags, _ := strings.Cut(strings.TrimSpace(cells[2]), ":")
		for program := range strings.FieldsSeq(cells[0]) {
			program = strings.TrimSuffix(program, "*")
			first[program[0]] = append(first[program[0]], program)
		}
		for flag := range strings.FieldsSeq(flags) {
			bare := strings.TrimRight(flag, "+!")
			g := &group{programs: map[string]bool{}, verb: strings.TrimSpace(cells[1]), part: parts[kind], apart: !strings.HasSuffix(flag, "!"), glued: bare != flag}
			for program := range strings.FieldsSeq(cells[0]) {
				if begin, ok := strings.CutSuffix(program, "*"); ok {
					g.begins = append(g.begins, begin)
				} else {
					g.programs[program] = true
				}
				g.bundle = g.bundle || program == "curl"
			}
			all[bare] = append(all[bare], g)
		}
	}
	return all, &first
})

// Flag says what the word that begins with flag tells, when line stands before
// it: which part of which word is secret. flag has its dashes and ends at the
// first byte that no flag is made of; glued is where in it the secret begins,
// 0 = the secret is the next word.
func Flag(line, flag string) (part Part, glued int) {
	if len(flag) < 2 || flag[0] != '-' {
		return None, 0
	}
	byFlag, _ := read()
	for _, g := range byFlag[flag] {
		if g.apart && g.runs(line) {
			return g.part, 0
		}
	}
	if flag[1] == '-' {
		return None, 0
	}
	for _, g := range byFlag[flag[:2]] {
		if g.glued && g.runs(line) {
			return g.part, 2
		}
	}
	if len(flag) > 2 && len(flag) <= 8 && letters(flag[1:]) {
		for _, g := range byFlag["-"+flag[len(flag)-1:]] {
			if g.bundle && g.apart && g.runs(line) {
				return g.part, 0
			}
		}
	}
	return None, 0
}

// Names reports whether any program of the table is named in text; where none
// is, no line that consists of it need be read.
func Names(text string) bool {
	_, names := read()
	for i := range len(text) {
		for _, program := range names[text[i]] {
			if strings.HasPrefix(text[i:], program) {
				return true
			}
		}
	}
	return false
}

// Suspect reports whether any program has such a flag; most words that begin
// with a dash need no line to be read.
func Suspect(flag string) bool {
	if len(flag) < 2 {
		return false
	}
	byFlag, _ := read()
	if _, ok := byFlag[flag]; ok {
		return true
	}
	if flag[1] == '-' {
		return false
	}
	_, first := byFlag[flag[:2]]
	_, last := byFlag["-"+flag[len(flag)-1:]]
	return first || last && len(flag) <= 8
}

func letters(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Secret is where in the given word the secret begins; ok is false where the
// word holds none.
func (p Part) Secret(word string) (from int, ok bool) {
	switch p {
	case Whole:
		return 0, word != ""
	case AfterColon, AfterPercent:
		sep := ":"
		if p == AfterPercent {
			sep = "%"
		}
		user, secret, found := strings.Cut(word, sep)
		return len(user) + 1, found && secret != "" && !strings.HasPrefix(secret, "//")
	case AfterPass:
		return len("pass:"), strings.HasPrefix(word, "pass:") && len(word) > len("pass:")
	}
	return 0, false
}

// runs reports whether line ends inside a command of one of the programs,
// behind its verb: no pipe, semicolon or ampersand that no quote holds has
// ended it.
func (g *group) runs(line string) bool {
	inside, verb := false, false
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case inWord(c):
			from := i
			for i+1 < len(line) && inWord(line[i+1]) {
				i++
			}
			word := line[from : i+1]
			switch {
			case g.named(word) && (i+1 == len(line) || strings.IndexByte("/=:", line[i+1]) < 0):
				inside, verb, quote = true, g.verb == "", 0
			case word == g.verb:
				verb = true
			}
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '|', c == ';', c == '&' && (i == 0 || line[i-1] != '>'):
			inside = false
		}
	}
	return inside && verb
}

func (g *group) named(word string) bool {
	word = strings.TrimSuffix(word, ".exe")
	if g.programs[word] {
		return true
	}
	for _, begin := range g.begins {
		if strings.HasPrefix(word, begin) {
			return true
		}
	}
	return false
}

// inWord: what a name is made of; a path may stand before it.
func inWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-'
}

// Starts reports whether a program that has its secret by its place is named.
func Starts(word string) bool {
	return strings.EqualFold(base(word), "net") || base(word) == "htpasswd" || setters[base(word)] != nil
}

// setters are programs that keep settings, among them secrets, and the words
// before NAME VALUE.
var setters = map[string][]string{
	"aws":  {"configure", "set"},
	"npm":  {"config", "set"},
	"pnpm": {"config", "set"},
	"yarn": {"config", "set"},
}

// Setting is the index of the value that a command gives to the setting whose
// name stands before it, -1 = none. words begins with the program.
func Setting(words []string) int {
	verbs := setters[base(words[0])]
	if n := len(verbs); n > 0 && len(words) >= n+3 && slices.Equal(words[1:1+n], verbs) {
		return n + 2
	}
	return -1
}

// Operand is the index of the word of a command that is secret by its place,
// -1 = none. words begins with the program.
func Operand(words []string) int {
	switch {
	case len(words) < 4:
	case base(words[0]) == "htpasswd":
		return htpasswd(words)
	case strings.EqualFold(base(words[0]), "net") && strings.EqualFold(words[1], "use"):
		return netUse(words)
	case strings.EqualFold(base(words[0]), "net") && strings.EqualFold(words[1], "user"):
		if plainWord(words[2]) && plainWord(words[3]) && (len(words) == 4 || strings.HasPrefix(words[4], "/")) {
			return 3
		}
	}
	return -1
}

// GoesOn reports whether an operand may be secret behind these two words; whole
// says that the second is not the beginning of a longer one.
func GoesOn(program, second string, whole bool) bool {
	if verbs := setters[base(program)]; verbs != nil {
		return second == verbs[0] || !whole && strings.HasPrefix(verbs[0], second)
	}
	if !strings.EqualFold(base(program), "net") {
		return true
	}
	second = strings.ToLower(second)
	return second == "use" || second == "user" || !whole && strings.HasPrefix("user", second)
}

func base(word string) string {
	word = word[strings.LastIndexAny(word, `/\`)+1:]
	return strings.TrimSuffix(word, ".exe")
}

// htpasswd -b[cBnm...] [-C cost] file user X; with -n there is no file.
func htpasswd(words []string) int {
	batch, operands := false, 2
	i := 1
	for ; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		flags := words[i][1:]
		batch = batch || strings.Contains(flags, "b")
		if strings.Contains(flags, "n") {
			operands = 1
		}
		if strings.HasSuffix(flags, "C") || strings.HasSuffix(flags, "r") {
			i++
		}
	}
	if batch && i+operands < len(words) {
		return i + operands
	}
	return -1
}

// net use [device] \\host\share X [/user:name]; * asks for it.
func netUse(words []string) int {
	share := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, `\\`) })
	if share < 0 {
		return -1
	}
	for i := share + 1; i < len(words); i++ {
		if plainWord(words[i]) {
			return i
		}
	}
	return -1
}

func plainWord(w string) bool { return w != "" && w[0] != '/' && w != "*" }
