// Package redact takes passwords out of texts, such as errors that quote the URL of a store.
package redact

import (
	"regexp"
	"strings"
)

// Passwords returns text without the passwords in it: those of URLs and of what drivers take in their
// place. words are what a user typed, such as the arguments of a command. Where text repeats a part
// of a word, quoted or not, the passwords of the word are found whatever characters they have.
func Passwords(text string, words ...string) string {
	for _, word := range words {
		for _, p := range passwordsIn(word) {
			text = p.coverEnds(p.coverBeginnings(text))
		}
	}
	for _, f := range forms {
		text = f.inText.ReplaceAllString(text, "${1}"+mask+"${3}")
	}
	return ownWords.Replace(text)
}

// mask is written in place of a password.
const mask = "xxxxx"

// ownWords unmasks the words USER:PASSWORD and HOST:PORT of our own errors.
var ownWords = strings.NewReplacer("USER:"+mask+"@", "USER:PASSWORD@", "://HOST:"+mask, "://HOST:PORT")

// A form is a way to write a password. Its expressions have three groups: what is before the password,
// the password, and what is after it. They are for text, and not for URLs that parse, since most that
// is said about a URL is said because it does not.
type form struct {
	inText *regexp.Regexp // white space or a quote ends the password
	inWord *regexp.Regexp // the password may have these: a word has one URL and nothing else
}

var forms = []form{
	// scheme://user:password@host: the last @ ends it, so its special characters need not be escaped
	newForm(`(://[^:Q]*:)([^Q]*)(@)`),

	// scheme://user:password or scheme://:password, without the host: what follows the colon is no port
	newForm(`(://[^:/?#@\[Q]*:)([^/?#@,Q]*[^/?#@,0-9:;.)\]Q][^/?#@,Q]*)()`),

	// user:password@ without a scheme before it: in a word the colon is the first, and has no // after it
	{
		inText: regexp.MustCompile("(\\b[^\\s:/@\"'`]+:)([^\\s:/@\"'`]+)(@)"),
		inWord: regexp.MustCompile(`(?s)^([^:]*:)(/?[^/].*)(@)`),
	},

	// a parameter of a URL
	newForm(`(?i)([?&]` + passwordName + `=)([^&#Q]+)()`),

	// a setting, such as password='...'
	newForm(`(?i)(` + passwordName + ` *= *)('[^']*'|[^&;\s"'` + "`]*)()"),
}

const passwordName = `\b[a-z_]*(?:pass[a-z]*|pwd|secret|token|auth)\b`

// newForm compiles an expression in which Q stands for white space and quotes in text, and in a word
// for NUL, which is in no argument of a command.
func newForm(expression string) form {
	return form{
		inText: regexp.MustCompile(strings.ReplaceAll(expression, "Q", "\\s\"'`")),
		inWord: regexp.MustCompile(strings.ReplaceAll(expression, "Q", `\x00`)),
	}
}
