// Package name reads the names of fields, variables, flags and headers and
// says what they tell of their value (contract G34).
//
// A name is split into its words, whether they are written camelCase,
// snake_case, kebab-case or apart. A core word (password, token, secret, key
// behind api, auth, credential and their kin) makes it the name of a secret;
// words around it can take that back: a token_count is a number, a
// password_policy a policy, an author a person.
package name

import (
	"strings"
	"sync"
)

// Meaning is what a name says of its value.
type Meaning uint8

const (
	Plain  Meaning = iota // nothing
	Weak                  // token, auth: a secret, and in program text often something about one
	Strong                // password, secret, key: a secret
	Header                // Authorization: a scheme, then a secret
	Cookie                // Cookie, Set-Cookie: pairs
	Pass                  // pass: a password where it is assigned, and the opposite of fail
	Key                   // ENC_KEY: a secret where the value looks like one
)

// Secret reports whether whatever such a name holds is masked (contract G34).
func (m Meaning) Secret() bool { return Plain < m && m < Pass }

const (
	Max      = 100 // bytes; a longer name says nothing
	maxWords = 12
)

// lists are the words of a name. core words make it sensitive; a word behind the core that
// is not in values takes that back for weak cores, one in about for all.
type lists struct{ core, soft, keyed, open, values, about, before, counted, passOf map[string]Meaning }

var sets = sync.OnceValue(func() *lists {
	return &lists{
		core: wordSet(Strong, "password passwords passwd pwd passphrase passphrases passcode secret secrets credential credentials cred creds apikey apikeys secretkey privatekey accesskey signingkey encryptionkey masterkey accountkey sharedkey"),
		soft: wordSet(Weak, "token tokens auth authorization jwt cookie"),
		// keyed are the words that make a key of "key" a secret one.
		keyed: wordSet(Strong, "api secret private access signing encryption encrypt enc decryption decrypt dec crypt crypto fernet master account shared session service auth cipher aes hmac kek dek"),
		// open are the words that make a key of "key" none, or a public one.
		open: wordSet(Strong, `public pub primary foreign unique sort cache partition routing hash range map dict index search lookup object bucket registry row group host composite natural surrogate event message
		gpg pgp ssh sign tab hot arrow function fn modifier shortcut accelerator answer translation i18n label field property attribute feature flag config setting option metadata item id record column meta tag state storage query param
		no has is use any first last next prev min max num left right up down enter escape delete hkey license product`),
		// values may follow any core: they are the value itself in some form.
		values: wordSet(Strong, "value values string str text data plain plaintext raw hash hashed digest encrypted base b64 base64 hex encoded header bytes current new old next previous last first default prod production dev development staging stage stg test testing live sandbox main primary secondary backup base confirmation confirm again repeat key env readonly rw ro write read a b c admin root user app db"),
		// about make a name one about a secret.
		about: wordSet(Strong, `count counts url uri endpoint host hostname port type types kind name names id ids path paths file filename files dir directory folder policy policies
		expires expiry expiration expired expire ttl age lifetime length len size min max minimum maximum limit limits strength field fields label labels prompt placeholder hint required enabled disabled optional
		changed updated created issued at on by date time timestamp reset reminder manager store storage provider providers service services version versions rotation format encoding algorithm algorithms algo algos alg method methods mode scope scopes
		ref refs reference references input inputs output box page form error errors message msg valid validation validator rule rules regex pattern hasher checker generator list index status state exists set var vars variable variables
		source sources arn namespace owner username email group role region class func function handler callback config configuration settings options option usage used budget per window second minute rate schema spec template
		middleware client server flow redirect login logout user users realm parser lexer kind literal stream position pos range span node tree bucket price cost helper command cmd cache
		author authors go py ts js rs c h cc cpp java rb md json yaml yml toml txt log html css sh sql test tests spec`),
		// before are words in front of a core that make it a question or a number.
		before: wordSet(Strong, `has have is are no not show hide shows hides use uses using needs need require requires required enable enabled disable disabled allow allows allowed skip num number max min maximum minimum total
		count forgot forgotten without missing invalid wrong bad valid check verify validate n`),
		// counted are words next to "tokens" that say they are counted.
		counted: wordSet(Strong, "prompt completion input output cached cache creation read write reasoning thinking used remaining budget max min total num count per n context limit usage audio text image accepted rejected prediction"),
		// passOf are words that make "pass" a password.
		passOf: wordSet(Strong, "db database smtp imap mail email mysql pg postgres redis ftp sftp user admin root ssh sudo http https proxy ldap api my login account vault key keystore truststore become ansible basic client cert enc gitlab github jenkins mqtt amqp rabbitmq mongo mongodb oracle sa service bot wifi vpn smb samba"),
	}
})

func wordSet(m Meaning, words string) map[string]Meaning {
	set := map[string]Meaning{}
	for w := range strings.FieldsSeq(words) {
		set[w] = m
	}
	return set
}

// Of reads a name.
func Of(name string) Meaning {
	if len(name) < 3 || len(name) > Max || !Suspect(name) {
		return Plain
	}
	var buf [Max]byte
	var ends [maxWords][2]int
	n := splitName(name, &buf, &ends)
	if n == 0 {
		return Plain
	}
	lower := name
	if string(buf[:len(name)]) != name {
		lower = string(buf[:len(name)])
	}
	words := func(i int) string { return lower[ends[i][0]:ends[i][1]] }
	switch {
	case n <= 2 && words(n-1) == "authorization":
		return Header
	case words(n-1) == "cookie" && (n == 1 || n == 2 && words(0) == "set"):
		return Cookie
	}
	return judge(n, words, name)
}

// Held reports whether a name is one of credentials as a whole, whose members
// are the secrets.
func Held(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "credentials") || strings.HasSuffix(name, "credential") || strings.HasSuffix(name, "creds")
}

// Suspect reports whether a name holds the beginning of any core word. Most
// do not, and nothing more need be done for them; any text may be asked about.
func Suspect(name string) bool {
	for i := range len(name) {
		rest := name[i:]
		switch name[i] | 0x20 {
		case 'p':
			if foldPrefix(rest, "pass") || foldPrefix(rest, "pwd") {
				return true
			}
		case 's':
			if foldPrefix(rest, "secret") {
				return true
			}
		case 'c':
			if foldPrefix(rest, "cred") || foldPrefix(rest, "cookie") {
				return true
			}
		case 't':
			if foldPrefix(rest, "token") {
				return true
			}
		case 'a':
			if foldPrefix(rest, "auth") {
				return true
			}
		case 'k':
			if foldPrefix(rest, "key") {
				return true
			}
		case 'j':
			if foldPrefix(rest, "jwt") {
				return true
			}
		}
	}
	return false
}

// foldPrefix: p is lower-case ASCII letters.
func foldPrefix(s, p string) bool {
	if len(s) < len(p) {
		return false
	}
	for i := range len(p) {
		if s[i]|0x20 != p[i] {
			return false
		}
	}
	return true
}

// judge finds the last core word and weighs what stands around it.
func judge(n int, words func(int) string, name string) Meaning {
	set := sets()
	at, m := -1, Plain
	for i := range n {
		w := words(i)
		switch {
		case set.core[w] != Plain || hasCore(w):
			at, m = i, Strong
		case (w == "key" || w == "keys") && i > 0 && set.keyed[words(i-1)] != Plain:
			at, m = i, Strong
		case w == "pass" && i > 0 && i == n-1 && set.passOf[words(i-1)] != Plain:
			at, m = i, Strong
		case set.soft[w] != Plain || strings.HasSuffix(w, "token") && len(w) > 5:
			if at < 0 || m != Strong {
				at, m = i, Weak
			}
		}
	}
	switch last := words(n - 1); {
	case at >= 0:
	case n == 1 && last == "pass":
		return Pass
	case n > 1 && last == "key" && set.open[words(n-2)] == Plain && set.open[words(0)] == Plain && name == strings.ToUpper(name):
		return Key
	default:
		return Plain
	}
	for i := range at {
		if set.before[words(i)] != Plain {
			return Plain
		}
		if words(at) == "tokens" && set.counted[words(i)] != Plain {
			return Plain
		}
	}
	upper := name == strings.ToUpper(name)
	for i := at + 1; i < n; i++ {
		w := words(i)
		switch {
		case w == "id" && words(at) == "secret" && i == n-1: // the secret half of a role
		case set.about[w] != Plain, words(at) == "tokens" && set.counted[w] != Plain:
			return Plain
		case m == Weak && !upper && set.values[w] == Plain:
			return Plain
		}
	}
	return m
}

// hasCore: words written together, as in dbpassword.
func hasCore(w string) bool {
	for _, c := range [...]string{"password", "passwd", "passphrase", "secret", "apikey", "pwd"} {
		if len(w) > len(c) && strings.HasSuffix(w, c) {
			return true
		}
	}
	return false
}

// splitName writes the words of a name, lower-case, into buf; digits end a
// word and are left out.
func splitName(name string, buf *[Max]byte, ends *[maxWords][2]int) (n int) {
	start := 0
	end := func(i int) {
		if i > start && n < maxWords {
			ends[n] = [2]int{start, i}
			n++
		}
	}
	isUpper := func(i int) bool { return i < len(name) && 'A' <= name[i] && name[i] <= 'Z' }
	isLower := func(i int) bool { return i >= 0 && i < len(name) && 'a' <= name[i] && name[i] <= 'z' }
	for i := range len(name) {
		c := name[i]
		buf[i] = c
		if isUpper(i) {
			buf[i] += 'a' - 'A'
		}
		switch {
		case c < 0x80 && (buf[i] < 'a' || buf[i] > 'z'):
			end(i)
			start = i + 1
		case isUpper(i) && i > start && (isLower(i-1) || isUpper(i-1) && isLower(i+1)):
			end(i)
			start = i
		}
	}
	end(len(name))
	return n
}
