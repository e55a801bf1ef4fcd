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
	userPassword  = regexp.MustCompile("(://[^:\\s\"'`]*:)[^\\s\"'`]*@")
	wholePassword = regexp.MustCompile("(?s)(://[^:]*:).*@")

	// user:password@ without a scheme before it
	bareUserPassword = regexp.MustCompile("(\\b[^\\s:/@\"'`]+:)[^\\s:/@\"'`]+@")

	// scheme://user:password or scheme://:password, without the host: what follows the colon is no
	// port
	hostless = regexp.MustCompile("(://[^:/?#@\\s\"'`\\[]*:)[^/?#@,\\s\"'`]*[^/?#@,\\s\"'`0-9:;.)\\]][^/?#@,\\s\"'`]*")

	// with a quoted value too
	parameter      = regexp.MustCompile("(?i)(" + passwordName + " *= *)('[^']*'|[^&;\\s\"'`]*)")
	wholeParameter = regexp.MustCompile("(?i)([?&]" + passwordName + "=)[^&#]*")
)

const passwordName = `\b[a-z_]*(?:pass[a-z]*|pwd|secret|token|auth)\b`

// Redact returns text without the passwords in it: those of URLs and of what drivers take in their
// place.
func Redact(text string) string {
	text = userPassword.ReplaceAllString(text, "${1}xxxxx@")
	text = hostless.ReplaceAllString(text, "${1}xxxxx")
	text = bareUserPassword.ReplaceAllString(text, "${1}xxxxx@")
	text = parameter.ReplaceAllString(text, "${1}xxxxx")
	return strings.ReplaceAll(text, "USER:xxxxx@", "USER:PASSWORD@") // which errors say that they want
}

// redactURL takes the password out of text that is a URL as a whole, white space in it included.
func redactURL(text string) string {
	return Redact(wholeParameter.ReplaceAllString(wholePassword.ReplaceAllString(text, "${1}xxxxx@"), "${1}xxxxx"))
}
