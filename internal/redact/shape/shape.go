// Package shape is the forms of the tokens of known services (contract G33),
// and the classes of characters that tokens and values are made of.
package shape

import "strings"

// Shape is the form of one kind of token: a prefix in exact case, then at
// least min bytes of a class. What follows is not looked at: a token before a
// comma or a bracket is a token.
type Shape struct {
	Prefix string
	Min    int
	Class  Class
	Max    int  // bytes behind the prefix that belong to it; 0 = as long as the class goes
	Alone  bool // not inside a word
	Digits bool // holds a digit
}

// All are from the vendors' own pages and the public rule sets of scanners.
var All = []Shape{
	{Prefix: "AKIA", Min: 16, Max: 16, Class: UpperDigit}, {Prefix: "ASIA", Min: 16, Max: 16, Class: UpperDigit}, {Prefix: "ABIA", Min: 16, Max: 16, Class: UpperDigit, Alone: true}, {Prefix: "ACCA", Min: 16, Max: 16, Class: UpperDigit, Alone: true},
	{Prefix: "ghp_", Min: 30, Class: Alnum}, {Prefix: "gho_", Min: 30, Class: Alnum}, {Prefix: "ghu_", Min: 30, Class: Alnum}, {Prefix: "ghs_", Min: 30, Class: Token}, {Prefix: "ghr_", Min: 30, Class: Alnum}, {Prefix: "github_pat_", Min: 22, Class: Token},
	{Prefix: "glpat-", Min: 18, Class: Token}, {Prefix: "gldt-", Min: 18, Class: Token}, {Prefix: "glrt-", Min: 18, Class: Token}, {Prefix: "glptt-", Min: 18, Class: Token}, {Prefix: "glsoat-", Min: 18, Class: Token}, {Prefix: "glcbt-", Min: 18, Class: Token}, {Prefix: "glimt-", Min: 18, Class: Token}, {Prefix: "glft-", Min: 18, Class: Token}, {Prefix: "glagent-", Min: 18, Class: Token},
	{Prefix: "xoxb-", Min: 10, Class: Token}, {Prefix: "xoxp-", Min: 10, Class: Token}, {Prefix: "xoxa-", Min: 10, Class: Token}, {Prefix: "xoxr-", Min: 10, Class: Token}, {Prefix: "xoxs-", Min: 10, Class: Token}, {Prefix: "xoxc-", Min: 10, Class: Token}, {Prefix: "xoxd-", Min: 10, Class: Token}, {Prefix: "xoxe-", Min: 10, Class: Token}, {Prefix: "xoxe.", Min: 10, Class: Token}, {Prefix: "xapp-", Min: 10, Class: Token},
	{Prefix: "hooks.slack.com/services/", Min: 20, Class: Path}, {Prefix: "hooks.slack.com/workflows/", Min: 20, Class: Path}, {Prefix: "discord.com/api/webhooks/", Min: 40, Class: Path}, {Prefix: "discordapp.com/api/webhooks/", Min: 40, Class: Path},
	{Prefix: "sk-ant-", Min: 20, Class: Token}, {Prefix: "sk-proj-", Min: 20, Class: Token}, {Prefix: "sk-svcacct-", Min: 20, Class: Token}, {Prefix: "sk-or-v1-", Min: 20, Class: Token}, {Prefix: "sk-", Min: 20, Class: Token, Alone: true, Digits: true},
	{Prefix: "sk_live_", Min: 16, Class: Alnum}, {Prefix: "sk_test_", Min: 16, Class: Alnum}, {Prefix: "rk_live_", Min: 16, Class: Alnum}, {Prefix: "rk_test_", Min: 16, Class: Alnum}, {Prefix: "whsec_", Min: 20, Class: Base64},
	{Prefix: "AIza", Min: 30, Class: Base64, Alone: true}, {Prefix: "ya29.", Min: 20, Class: Token}, {Prefix: "GOCSPX-", Min: 20, Class: Token}, {Prefix: "1//0", Min: 40, Class: Token, Alone: true},
	{Prefix: "npm_", Min: 30, Class: Alnum, Alone: true}, {Prefix: "pypi-", Min: 40, Class: Token}, {Prefix: "rubygems_", Min: 40, Class: Alnum}, {Prefix: "CLOJARS_", Min: 50, Class: Alnum}, {Prefix: "crates.io:", Min: 30, Class: Alnum},
	{Prefix: "hf_", Min: 30, Class: Alnum, Alone: true}, {Prefix: "api_org_", Min: 30, Class: Alnum}, {Prefix: "r8_", Min: 30, Class: Alnum, Alone: true}, {Prefix: "gsk_", Min: 32, Class: Alnum, Alone: true}, {Prefix: "xai-", Min: 32, Class: Token, Alone: true}, {Prefix: "pplx-", Min: 32, Class: Alnum, Alone: true}, {Prefix: "nvapi-", Min: 30, Class: Token}, {Prefix: "tvly-", Min: 16, Class: Token, Alone: true, Digits: true},
	{Prefix: "dop_v1_", Min: 32, Class: Alnum}, {Prefix: "doo_v1_", Min: 32, Class: Alnum}, {Prefix: "dor_v1_", Min: 32, Class: Alnum}, {Prefix: "dckr_pat_", Min: 20, Class: Token}, {Prefix: "dckr_oat_", Min: 20, Class: Token},
	{Prefix: "hvs.", Min: 20, Class: Token, Alone: true}, {Prefix: "hvb.", Min: 20, Class: Token, Alone: true}, {Prefix: "hvr.", Min: 20, Class: Token, Alone: true}, {Prefix: "vault:v1:", Min: 20, Class: Base64},
	{Prefix: "SG.", Min: 40, Class: Token, Alone: true}, {Prefix: "shpat_", Min: 32, Class: Alnum}, {Prefix: "shpss_", Min: 32, Class: Alnum}, {Prefix: "shpca_", Min: 32, Class: Alnum}, {Prefix: "shppa_", Min: 32, Class: Alnum}, {Prefix: "sq0atp-", Min: 20, Class: Token}, {Prefix: "sq0csp-", Min: 40, Class: Token},
	{Prefix: "lin_api_", Min: 20, Class: Alnum}, {Prefix: "PMAK-", Min: 40, Class: Token}, {Prefix: "ATATT3", Min: 40, Class: Base64}, {Prefix: "ATCTT3", Min: 40, Class: Base64}, {Prefix: "figd_", Min: 30, Class: Token}, {Prefix: "figu_", Min: 30, Class: Token}, {Prefix: "dapi", Min: 32, Class: Alnum, Alone: true, Digits: true}, {Prefix: "glsa_", Min: 30, Class: Token}, {Prefix: "glc_", Min: 32, Class: Base64, Alone: true},
	{Prefix: "sntrys_", Min: 40, Class: Base64}, {Prefix: "sntryu_", Min: 40, Class: Alnum}, {Prefix: "NRAK-", Min: 24, Class: Alnum}, {Prefix: "AGE-SECRET-KEY-1", Min: 50, Class: Alnum}, {Prefix: "AGE-SECRET-KEY-PQ-1", Min: 50, Class: Alnum}, {Prefix: "pul-", Min: 40, Class: Alnum, Alone: true}, {Prefix: "sbp_", Min: 40, Class: Alnum, Alone: true}, {Prefix: "sb_secret_", Min: 20, Class: Token},
	{Prefix: "pat-na1-", Min: 20, Class: Token, Alone: true, Digits: true}, {Prefix: "pat-eu1-", Min: 20, Class: Token, Alone: true, Digits: true}, {Prefix: "dp.pt.", Min: 32, Class: Alnum, Alone: true}, {Prefix: "dp.st.", Min: 32, Class: Token, Alone: true}, {Prefix: "ops_eyJ", Min: 40, Class: Base64}, {Prefix: "EAACEdEose0cBA", Min: 20, Class: Alnum}, {Prefix: "tskey-", Min: 20, Class: Token, Alone: true, Digits: true}, {Prefix: "fo1_", Min: 30, Class: Token, Alone: true}, {Prefix: "FlyV1 fm", Min: 40, Class: Base64}, {Prefix: "rpa_", Min: 40, Class: Alnum, Alone: true}, {Prefix: "ion_", Min: 40, Class: Alnum, Alone: true}, {Prefix: "LTAI", Min: 16, Class: Alnum, Alone: true, Digits: true},
}

// Enough is how much of a token is looked at to know it; the mask goes on as
// long as its class does.
const Enough = 128

// ByStart are the shapes by their first byte, the longest prefix first.
var ByStart = func() (t [256][]Shape) {
	for _, s := range All {
		list := &t[s.Prefix[0]]
		i := 0
		for i < len(*list) && len((*list)[i].Prefix) >= len(s.Prefix) {
			i++
		}
		*list = append((*list)[:i:i], append([]Shape{s}, (*list)[i:]...)...)
	}
	return t
}()

// Class is a set of character classes.
type Class uint16

const (
	Letter Class = 1 << iota
	Digit
	Base64     // letters, digits, + / = - _
	PEM        // letters, digits, + / =
	UpperDigit // capital letters and digits
	Token      // letters, digits, - _ .
	Ident      // letters, digits, _ - . $: what a name is made of
	Value      // an unquoted value somewhere in a text
	Line       // an unquoted value that has its line to itself
	Header     // the rest of a header
	Text       // the text of an element
	Path       // letters, digits, / _ -
	Word       // an unquoted word of a command line
	Alnum      = Letter | Digit
)

var Classes = makeClasses()

func makeClasses() (t [256]Class) {
	for i := range t {
		c := byte(i)
		isLetter := 'a' <= lower(c) && lower(c) <= 'z'
		isDigit := '0' <= c && c <= '9'
		in := func(set string) bool { return strings.IndexByte(set, c) >= 0 }
		add := func(yes bool, cl Class) {
			if yes {
				t[i] |= cl
			}
		}
		add(isLetter, Letter)
		add(isDigit, Digit)
		add(isLetter || isDigit || in("+/=-_"), Base64)
		add(isLetter || isDigit || in("+/="), PEM)
		add('A' <= c && c <= 'Z' || isDigit, UpperDigit)
		add(isLetter || isDigit || in("-_."), Token)
		add(isLetter || isDigit || in("_-.$"), Ident)
		add(isLetter || isDigit || in("/_-"), Path)
		printable := c > ' ' && c != 0x7f
		add(printable && !in("\"'`<>,;&#()[]{}|\\"), Value)
		add(printable && !in("\"'`"), Line)
		add(printable && !in("\"'`;|&()<>\\"), Word)
		add(c >= ' ' && c != 0x7f && !in("\"'`\\") || c == '\t', Header)
		add(c >= ' ' && c != 0x7f && c != '<' || c == '\t', Text)
	}
	return t
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
