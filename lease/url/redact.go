package url

import (
	"regexp"
	"strings"
)

// The passwords of URLs: what stands between the colon after the user's name and the last @, which
// covers those whose special characters are not escaped, and the values of parameters that are
// passwords. They are found in text, and not in URLs that parse, since most that is said about a
// URL is said because it does not.
var (
	userPassword = regexp.MustCompile("(://[^:\\s\"'`]*:)[^\\s\"'`]*@")

	// user:password@ without a scheme before it
	bareUserPassword = regexp.MustCompile("(\\b[^\\s:/@\"'`]+:)[^\\s:/@\"'`]+@")

	// scheme://user:password or scheme://:password, without the host: what follows the colon is no
	// port
	hostless = regexp.MustCompile("(://[^:/?#@\\s\"'`\\[]*:)[^/?#@,\\s\"'`]*[^/?#@,\\s\"'`0-9:;.)\\]][^/?#@,\\s\"'`]*")

	// with a quoted value too
	parameter = regexp.MustCompile("(?i)(" + passwordName + " *= *)('[^']*'|[^&;\\s\"'`]*)")
)

const passwordName = `\b[a-z_]*(?:pass[a-z]*|pwd|secret|token|auth)\b`

// Redact returns text without the passwords in it: those of URLs and of what drivers take in their
// place. words are what a user typed, such as the arguments of a command. Where text repeats a part
// of a word, quoted or not, the passwords of the word are found whatever characters they have.
func Redact(text string, words ...string) string {
	for _, word := range words {
		for _, p := range passwordsIn(word) {
			text = p.cover(text)
		}
	}
	text = userPassword.ReplaceAllString(text, "${1}xxxxx@")
	text = hostless.ReplaceAllString(text, "${1}xxxxx")
	text = bareUserPassword.ReplaceAllString(text, "${1}xxxxx@")
	text = parameter.ReplaceAllString(text, "${1}xxxxx")
	return strings.ReplaceAll(text, "USER:xxxxx@", "USER:PASSWORD@") // which errors say that they want
}
