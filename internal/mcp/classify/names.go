package classify

import (
	"strings"
	"unicode"

	"github.com/reeve-gate/reeve/internal/late"
)

// doing is what a name says that a tool does.
type doing struct {
	verb     string // the first word that changes something; "" = none
	destroys bool   // one of them removes what may not come back
}

// Three kinds of words. A changing verb counts wherever it stands. A word that
// is a verb and a thing alike (commit, post, run) counts, unless a word that
// reads stands before it and no "and" between them: list_commits reads,
// commit_files does not, get_and_set does not; in the plural it is a thing
// (console_messages). What removes counts anywhere.
var (
	removes = late.NewWords(`delete del remove rm rmdir unlink drop purge wipe erase destroy truncate shred nuke uninstall unpublish
		revoke terminate kill format clear clean flush prune discard expunge empty reset rollback revert restore overwrite unregister evict deprovision`)
	changes = late.NewWords(`write create update insert append add set put edit modify move mv rename copy cp upload send submit publish deploy execute exec eval evaluate
		install apply enable disable approve reject cancel close reopen open pay purchase buy sell withdraw deposit register subscribe unsubscribe assign unassign
		grant invite ban mute join leave save store mkdir touch replace alter upsert migrate provision restart shutdown reboot suspend
		resume pause start stop accept decline confirm complete finish resolve dismiss archive unarchive star unstar like unlike follow unfollow retweet tweet click type fill press drag drop hover scroll
		navigate goto dispatch broadcast notify email sms dial reply respond upvote downvote generate make do perform invoke inject attach detach bind unbind mount unmount
		link sync encrypt decrypt sign login logout authenticate authorize impersonate sudo chmod chown kick push rebase amend cherry squash sleep increment decrement enqueue dequeue spawn launch
		transfer transform convert compress extract rotate crop resize mark unmark pin unpin lock unlock hide unhide toggle switch configure setup init initialize initialise populate seed ingest merge`)
	either = late.NewWords(`commit merge post run release comment tag fork branch branches patch patches note order call message log update fix fixes change import
		export share book charge trigger build request schedule pull stash label review vote transfer refund invoice payment open link sign store
		archive press type start star pin lock mark set save like follow move copy copies close format clean empty reset restore register backup task
		job script command shell sql cron record design draft event track edit`)
	reads = late.NewWords(`get list read search find show view describe count fetch query check lookup inspect browse head peek stat stats status tail cat ls diff compare explain summarize summarise
		validate verify lint analyze analyse preview print display retrieve is has info whoami ping echo resolve suggest estimate watch monitor scan detect audit download examine`)
	joins = late.NewWords(`and or then plus with`)
)

// verbOf reads a tool's name.
func verbOf(name string) doing {
	var d doing
	reading := false // a word that reads stands before, and no join since
	note := func(w string, destroys bool) {
		if d.verb == "" || destroys && !d.destroys {
			d.verb = w
		}
		d.destroys = d.destroys || destroys
	}
	for _, w := range split(name) {
		thing := either.Has(w) && reading
		switch {
		case joins.Has(w):
			reading = false
		case strings.HasSuffix(w, "s") && either.Has(strings.TrimSuffix(w, "s")):
		case thing:
		case removes.Has(w):
			note(w, true)
		case reads.Has(w) && !changes.Has(w):
			reading = true
		case changes.Has(w), either.Has(w):
			note(w, false)
		default:
			if verb, destroys := glued(w); verb != "" && !(reading && participle(w, verb)) {
				note(verb, destroys)
			}
		}
	}
	return d
}

// split is the words of a name, in lower case: writeFile, write_file,
// write-file and WRITE.FILE are the same two, and HTTPPost is http, post.
func split(name string) []string {
	var all []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			all = append(all, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return all
}

// long are verbs that betray themselves at the beginning of a word that was
// written without a gap: deletefile, createissue.
var long = []string{"delete", "remove", "destroy", "truncate", "overwrite", "uninstall", "purge", "unlink", "wipe", "erase",
	"write", "create", "update", "insert", "append", "upload", "rename", "deploy", "publish", "execute", "install", "modify", "replace", "submit", "send", "edit", "exec", "eval"}

const longRemoves = 10 // so many of long remove

func glued(w string) (verb string, destroys bool) {
	for i, v := range long {
		if strings.HasPrefix(w, v) && len(w) > len(v) {
			return v, i < longRemoves
		}
	}
	return "", false
}

// participle reports whether a word is only another form of a verb, as in
// get_updated_files, and not a verb with its object.
func participle(w, verb string) bool {
	stem := strings.TrimSuffix(verb, "e")
	rest := strings.TrimPrefix(w, stem)
	switch rest {
	case "ed", "es", "s", "er", "ers", "or", "ion", "ions", "d", "ions_", "ment", "ments", "able", "en":
		return true
	}
	rest = strings.TrimPrefix(w, verb)
	switch rest {
	case "s", "d", "r", "rs", "er", "ers", "ed", "or", "ors", "ion", "ions", "ment", "ments", "able":
		return true
	}
	return false
}
