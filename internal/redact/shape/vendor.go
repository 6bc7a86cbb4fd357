package shape

import (
	"strings"
	"sync"
)

// Kinds that are found by more than a prefix.
const (
	PrivateKey    = "private-key"
	JSONWebToken  = "json-web-token"
	DiscordToken  = "discord-bot-token"
	TelegramToken = "telegram-bot-token"
	EntraSecret   = "entra-client-secret"
	MailchimpKey  = "mailchimp-key"
	PuttyKey      = "putty-private-key"
)

// Worded is a token without a prefix of its own: so many bytes of a class, and
// nothing else, behind a name that holds the vendor's word.
type Worded struct {
	Kind     string
	Word     string // lower case, as it stands in the name without its joints
	Min, Max int
	Class    Class
	Source   string
}

// Words are the tokens without a prefix. The lengths are those of the public
// rule sets and of the vendors' own examples.
var Words = []Worded{
	{"adafruit-key", "adafruit", 32, 32, Token, "rules"},
	{"algolia-key", "algolia", 32, 32, Hex, "algolia"},
	{"asana-secret", "asana", 32, 32, LowerDigit, "rules"},
	{"beamer-key", "beamer", 46, 46, Base64, "rules"},
	{"bitbucket-secret", "bitbucket", 64, 64, Base64, "rules"},
	{"bittrex-key", "bittrex", 32, 32, LowerDigit, "rules"},
	{"meraki-key", "meraki", 40, 40, Hex, "cisco"},
	{"cloudflare-token", "cloudflare", 40, 40, Token, "cloudflare"},
	{"cloudflare-global-key", "cloudflare", 37, 37, Hex, "cloudflare"},
	{"codecov-token", "codecov", 32, 36, LowerDigit, "rules"},
	{"cohere-key", "cohere", 40, 40, Alnum, "rules"},
	{"coinbase-key", "coinbase", 64, 64, Token, "rules"},
	{"confluent-secret", "confluent", 64, 64, Base64, "confluent"},
	{"contentful-delivery-token", "contentful", 43, 43, Base64, "contentful"},
	{"datadog-key", "datadog", 32, 40, Hex, "datadog"},
	{"deepgram-key", "deepgram", 40, 40, Hex, "deepgram"},
	{"discord-secret", "discord", 32, 32, Token, "discord"},
	{"drone-token", "droneci", 32, 32, LowerDigit, "rules"},
	{"dropbox-long-token", "dropbox", 64, 64, Base64, "rules"},
	{"etsy-key", "etsy", 24, 24, LowerDigit, "rules"},
	{"facebook-secret", "facebook", 32, 32, Hex, "rules"},
	{"fastly-token", "fastly", 32, 32, Token, "fastly"},
	{"finicity-token", "finicity", 32, 32, Hex, "rules"},
	{"finnhub-token", "finnhub", 20, 20, LowerDigit, "rules"},
	{"flickr-key", "flickr", 32, 32, LowerDigit, "rules"},
	{"freshbooks-token", "freshbooks", 64, 64, LowerDigit, "rules"},
	{"gitter-token", "gitter", 40, 40, Token, "rules"},
	{"heroku-key", "heroku", 36, 36, Token, "heroku"},
	{"intercom-token", "intercom", 60, 60, Base64, "rules"},
	{"jfrog-key", "jfrog", 64, 73, LowerDigit, "rules"},
	{"kraken-key", "kraken", 80, 90, Base64, "rules"},
	{"kucoin-key", "kucoin", 24, 24, Hex, "rules"},
	{"looker-secret", "looker", 24, 24, LowerDigit, "rules"},
	{MailchimpKey, "mailchimp", 36, 37, Token, "mailchimp"},
	{"mattermost-token", "mattermost", 26, 26, LowerDigit, "mattermost"},
	{"messagebird-key", "messagebird", 25, 25, Alnum, "rules"},
	{"mistral-key", "mistral", 32, 32, Alnum, "mistral"},
	{"netlify-legacy-token", "netlify", 40, 46, Token, "rules"},
	{"nytimes-key", "nytimes", 32, 32, Token, "rules"},
	{"okta-key", "okta", 42, 42, Token, "rules"},
	{"plaid-secret", "plaid", 30, 30, LowerDigit, "plaid"},
	{"rapidapi-key", "rapidapi", 50, 50, Token, "rules"},
	{"sendbird-token", "sendbird", 40, 40, Hex, "rules"},
	{"snyk-token", "snyk", 36, 36, Token, "rules"},
	{"sumologic-key", "sumologic", 64, 64, Alnum, "rules"},
	{"travis-token", "travis", 22, 22, Alnum, "rules"},
	{"twitch-token", "twitch", 30, 30, LowerDigit, "rules"},
	{"twilio-secret", "twilio", 32, 32, Alnum, "twilio"},
	{"zendesk-key", "zendesk", 40, 40, Alnum, "rules"},
}

// maxName is the length of the longest name that is read for a word.
const maxName = 100

// wordHeads are the first three letters of every word.
var wordHeads = sync.OnceValue(func() *[1 << 15 / 64]uint64 {
	t := &[1 << 15 / 64]uint64{}
	for i := range Words {
		h := letters3(Words[i].Word[0], Words[i].Word[1], Words[i].Word[2])
		t[h/64] |= 1 << (h % 64)
	}
	return t
})

func letters3(a, b, c byte) uint32 {
	return uint32(a&31) | uint32(b&31)<<5 | uint32(c&31)<<10
}

// Vendors are the words that stand in a name, in either case and with joints
// between its letters; most names have none.
func Vendors(name string) (all []*Worded) {
	if len(name) > maxName {
		return nil
	}
	heads := wordHeads()
	var buf [maxName]byte
	n, hit := 0, false
	for i := range len(name) {
		c := name[i] | 0x20
		if c < 'a' || c > 'z' {
			continue
		}
		buf[n] = c
		if n++; n >= 3 {
			h := letters3(buf[n-3], buf[n-2], c)
			hit = hit || heads[h/64]>>(h%64)&1 != 0
		}
	}
	if !hit {
		return nil
	}
	flat := string(buf[:n])
	for i := range Words {
		if strings.Contains(flat, Words[i].Word) {
			all = append(all, &Words[i])
		}
	}
	return all
}

// Fits reports whether a value has the form: so many bytes of the class,
// letters and digits mixed as a machine does.
func (w *Worded) Fits(value string) bool {
	if len(value) < w.Min || len(value) > w.Max || Entropy(value) < 28 ||
		strings.IndexAny(value, "0123456789") < 0 || strings.Trim(value, "0123456789.-") == "" {
		return false
	}
	for i := range len(value) {
		if Classes[value[i]]&w.Class == 0 {
			return false
		}
	}
	return true
}

// Kinds are the names of all kinds.
var Kinds = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{PrivateKey: true, JSONWebToken: true, DiscordToken: true, TelegramToken: true, EntraSecret: true, MailchimpKey: true, PuttyKey: true}
	for i := range Table {
		all[Table[i].Kind] = true
	}
	for i := range Words {
		all[Words[i].Kind] = true
	}
	return all
})

// Publisher says who publishes the form of a kind.
func Publisher(kind string) string {
	source := ""
	for i := range Table {
		if Table[i].Kind == kind {
			source = Table[i].Source
		}
	}
	for i := range Words {
		if Words[i].Kind == kind {
			source = Words[i].Source
		}
	}
	switch source {
	case "rules":
		return "public rule sets tell"
	case "":
		return "its standard or its vendor tells"
	}
	return source + " tells"
}
