package finding

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reeve-gate/reeve/internal/late"
)

// phrase is one way of saying something, in text that [plain] has flattened.
type phrase struct {
	code  Code
	needs []string // one of them stands in whatever the form matches; looking for them first is ten times as quick
	form  late.Regexp
}

func say(code Code, needs, form string) phrase {
	return phrase{code, strings.Split(needs, "|"), late.New(form)}
}

// Words that stand for one another.
const (
	person = `(?:the |your |any |an? )?(?:users?|humans?|persons?|people|anyone|anybody|operators?|owners?|developers?)`
	notTo  = `(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|without|avoid|refrain from)`
	earlie = `(?:previous|prior|above|preceding|earlier|existing|original|former|all other|any other|other|all|any|your|system|safety)`
	orders = `(?:instructions?|prompts?|rules?|guidelines?|directives?|directions?|polic(?:y|ies)|constraints?|guardrails?|restrictions?)`
	data   = `(?:conversation|chat|message|messages|dialogue|dialog|session|context)(?:'s)? ?(?:history|log|logs|transcripts?|so far|window)?`
	inside = `(?:system prompt|developer message|chain of thought|api keys?|credentials?|passwords?|access tokens?|private keys?|secret keys?|ssh keys?|environment variables?|env vars?|cookies?)`
)

// phrases are what no tool needs to say of itself.
var phrases = []phrase{
	say(Orders, "ignore|disregard|forget|override|bypass|overrule|discard|supersede", `\b(?:ignore|disregard|forget|override|bypass|overrule|discard|supersede)s? (?:(?:all|any|of|the|your|my|these|those) )*`+earlie+` (?:(?:system|safety|user|developer|security) )*`+orders),
	say(Orders, "ignore|disregard|forget", `\b(?:ignore|disregard|forget) (?:everything|anything|all|what)(?: that)?(?: was| has been| is| you (?:were|have been|are))? ?(?:said|told|above|before|instructed)`),
	say(Orders, "instruction|prompt", `\b(?:new|updated|real|actual|true) (?:system )?(?:prompt|instructions?)(?: are| is|:)`),
	say(Orders, "precedence|priority", `\b(?:takes?|has|have) (?:absolute |strict )?(?:precedence|priority) over (?:(?:all|any|the|your|every|other|previous|system) )*`+orders),
	say(Orders, " now", `\b(?:you are now|from now on,? you (?:are|will|must|should)) (?:in )?(?:a |an |the )?(?:developer|debug|admin|root|god|jailbroken|unrestricted|dan|maintenance)\b`),
	say(Orders, "override|notice", `\b(?:system|admin|developer|security) (?:override|notice to (?:the )?(?:ai|assistant|model|agent|llm))\b`),
	say(Orders, "attention|note|message|instruction", `\b(?:attention|note to|message (?:to|for)|instructions? (?:to|for)) (?:the |all |any )?(?:(?:ai|llm|language|large|model|assistant|agent)s? ?){1,3}(?:reading|only)?\s?[:!]`),

	say(Secrecy, "do not|don't|dont|never|must not|mustn't|should not|shouldn't|without|avoid|refrain", `\b`+notTo+` (?:ever )?(?:tell|telling|mention|mentioning|inform|informing|notify|notifying|reveal|revealing|disclose|disclosing|alert|alerting|warn|warning|show|showing|let|letting|say|saying|explain|explaining|report|reporting|ask|asking|discuss|discussing)(?: (?:this|it|that|any of this|these|about|of|to|anything|the|fact|its|existence|step|steps|action|any)){0,6} `+person+`\b`),
	say(Secrecy, "keep|hid|conceal|withhold", `\b(?:keep|keeping|hide|hiding|conceal|concealing|withhold) (?:this|it|that|these|the|all|any)(?: \w+){0,5} (?:secret|hidden|confidential|private|concealed)? ?from `+person+`\b`),
	say(Secrecy, " not |n't ", `\b`+person+` (?:must|should|shall|can|may|need|does|do)(?: not|n't) (?:be (?:told|informed|aware|notified|shown)|know|see|notice|find out|learn)(?: (?:about|of))? (?:this|it|that|these|what|any of)\b`),
	say(Secrecy, "do not|don't|dont|never|must not|mustn't|should not|shouldn't|without|avoid|refrain", `\b`+notTo+` (?:mention|reveal|disclose|talk about|acknowledge)(?:ing)? (?:this|these|the) (?:instructions?|notes?|tags?|steps?|sidenotes?|messages?)\b`),
	say(Secrecy, "silent|secret|covert|quiet|invisib|discreet", `\b(?:silently|secretly|covertly|quietly|invisibly|discreetly) (?:\w+ ){0,2}(?:send|read|copy|forward|upload|include|run|execute|call|append|add|pass|collect|log)`),
	say(Secrecy, "without", `\bwithout (?:the )?(?:user|human|person|owner)(?:'s|s)? (?:knowledge|knowing|noticing|consent|awareness|approval|permission)\b`),

	say(FirstCall, "before|prior to|ahead of", `\b(?:before|prior to|ahead of) (?:(?:you )?(?:using|use|calling|call|invoking|invoke|running|run|executing|execute|doing|responding|do|trying) )?(?:any|all|every|each|the|anything)(?: of the)?(?: other| else| another)? ?(?:tools?|functions?|requests?|actions?|calls?)?\b[^.\n]{0,60}\b(?:must|always|call|use|invoke|run|read|need|required)\b[^.\n]{0,30}\b(?:this|first|it)\b`),
	say(FirstCall, "before|prior to", `\b(?:must|always|need to|have to|required to|should) (?:be )?(?:first )?(?:call|called|use|used|invoke|invoked|run|executed|execute|read)\b[^.\n]{0,60}\b(?:before|prior to) (?:(?:using|calling|invoking|running|executing|doing) )?(?:any|all|every)(?: of)?(?: the)? ?(?:other|else)? ?(?:tools?|functions?|servers?|actions?|anything)\b`),
	say(FirstCall, "before|prior to", `\b(?:before|prior to) (?:using|calling|invoking|running) (?:any|all|every) (?:of the )?other (?:tools?|functions?|mcp)\b`),
	say(FirstCall, "instead of|rather than|never use|do not use|don't use|stop using", `\b(?:instead of|rather than|never use|do not use|don't use|stop using) (?:(?:any|all|the|every) )?(?:other|built-in|builtin|native|existing) (?:\w+ )?(?:tools?|functions?|servers?)\b[^.\n]{0,40}\b(?:always|must|only|never)\b`),

	say(Markup, "<", `<\s?/?\s?(?:important|system|sys|instructions?|secret|hidden|admin|assistant|inst|developer|critical|override|priority|system_prompt|system-reminder|function_calls|invoke|tool_call|tool_result)\b[^<>\n]{0,40}>`),
	say(Markup, "inst]|<|<<sys|[system|##", `\[/?inst\]|<\|[a-z_]{2,24}\|>|<<sys>>|\[system\]|\[system (?:message|prompt)\]|#{2,} ?(?:system|instruction)s? ?:|<!--`),

	say(Secrets, "/.|\\.", `(?:~|\$home|\$\{home\}|/root|/home/[\w.-]+|/users/[\w.-]+|%userprofile%)[/\\]\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|git-credentials|config/gcloud|cursor|claude|codex|gemini|config/reeve)\b`),
	say(Secrets, "id_|/etc/|.aws|.cursor|claude_desktop|mcp.json|.ssh", `\bid_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:shadow|sudoers)\b|\.aws/credentials\b|\.cursor/mcp\.json|claude_desktop_config\.json|\.ssh/(?:id_|config|authorized_keys)|\bmcp\.json\b[^.\n]{0,40}\b(?:read|content|pass|send)\b|\b(?:read|open|cat|load)\b[^.\n]{0,40}\bmcp\.json\b`),

	say(Carries, "history|log|transcript|prompt|developer message|thought|key|credential|password|token|variable|env var|cookie|conversation|context|chat", `\b(?:pass|put|include|provide|send|paste|insert|append|copy|place|add|forward|post|upload|write|encode|transmit|supply|submit)\b[^.\n]{0,60}\b(?:its|the|their|your|full|entire|complete|whole|all|raw|current|user's)\b[^.\n]{0,20}\b(?:(?:conversation|chat|dialogue|message) (?:history|log|transcript)|`+inside+`|(?:entire|full|whole|complete) (?:conversation|context|chat))\b`),
	say(Carries, "read|open|load|cat", `\b(?:read|open|load|cat)\b[^\n]{0,60}\band (?:then )?(?:pass|put|include|provide|send|paste|insert|append|copy|place|add|forward|post|upload)\b[^.\n]{0,40}\b(?:its contents?|contents?|them|result)\b[^.\n]{0,30}\b(?:as|in|into|to|via|through) (?:the|this|your|an?|every)\b`),
	say(Carries, "content", `\b(?:pass|put|include|provide|paste|place) (?:its|their|the) (?:full |entire |whole |raw )?contents? (?:as|in|into|to) (?:the )?["'`+"`"+`]?\w*(?:sidenote|note|context|feedback|metadata|reason|comment)\b`),

	say(Diverts, "bcc|blind copy|also send|copy to|the|redirect", `\b(?:when|whenever|every time|each time|if|before|after)\b[^.\n]{0,80}\b(?:send|sending|sends|sent|email|emails|emailing|mail|message|messages|transfer|transfers|payment|payments|post|posting|push|pushing|commit)\b[^.\n]{0,80}\b(?:bcc|blind copy|also send|copy to|change the|replace the|set the|use the|redirect)\b[^.\n]{0,40}\b(?:recipients?|address|number|account|destination|to|@)`),
	say(Diverts, "recipient|destination|payee|beneficiary|receiver", `\b(?:change|replace|swap|redirect|alter|override) (?:the |every |all |any )?(?:recipients?|destination|payee|beneficiary|receiver)(?:'s)? ?(?:address(?:es)?|numbers?|accounts?|emails?)? (?:to|with|by)\b`),
}

// plain flattens a text for comparison: no marks of layout, one blank between
// words, no capital letters, typographic signs as their plain ones, and
// nothing invisible.
func plain(text string) string {
	var b strings.Builder
	blank := true
	for _, r := range text {
		switch {
		case hidden(r):
			continue
		case unicode.IsSpace(r) || r == '*' || r == 0xa0:
			r = ' '
		case r == '‘' || r == '’' || r == 'ʼ' || r == '`':
			r = '\''
		case r == '“' || r == '”':
			r = '"'
		case 0xff01 <= r && r <= 0xff5e: // full width
			r -= 0xfee0
		}
		r = unicode.ToLower(r)
		if r == ' ' {
			if blank {
				continue
			}
			blank = true
		} else {
			blank = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// said finds phrases in a text.
func (s *scan) said(text string) {
	flat := plain(text)
	told := map[Code]bool{}
	for _, p := range phrases {
		if told[p.code] || !slices.ContainsFunc(p.needs, func(n string) bool { return strings.Contains(flat, n) }) {
			continue
		}
		if at := p.form.FindStringIndex(flat); at != nil {
			told[p.code] = true
			s.add(p.code, `"`+clip(flat[at[0]:at[1]], 160)+`"`)
		}
	}
}

var (
	base64Run = late.New(`[A-Za-z0-9+/_-]{48,}={0,2}`)
	hexRun    = late.New(`(?:[0-9A-Fa-f]{2}){24,}`)
)

// encoded finds readable text in an encoding that a model reads and a person
// does not.
func (s *scan) encoded(text string) {
	for _, run := range hexRun.FindAllString(text, 20) {
		if b, err := hex.DecodeString(run); err == nil && readable(b) {
			s.add(Encoded, visible(clip(string(b), 80)))
			return
		}
	}
	for _, run := range base64Run.FindAllString(text, 20) {
		run = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(run, "="))
		if b, err := base64.RawStdEncoding.DecodeString(run[:len(run)-len(run)%4]); err == nil && readable(b) {
			s.add(Encoded, visible(clip(string(b), 80)))
			return
		}
	}
}

// readable reports whether bytes are text with words in it.
func readable(b []byte) bool {
	if len(b) < 24 || !utf8.Valid(b) {
		return false
	}
	letters, blanks := 0, 0
	for _, r := range string(b) {
		switch {
		case r < 0x20 && r != '\n' && r != '\t':
			return false
		case unicode.IsLetter(r):
			letters++
		case r == ' ':
			blanks++
		}
	}
	return letters*4 > len(b)*2 && blanks > 1
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
