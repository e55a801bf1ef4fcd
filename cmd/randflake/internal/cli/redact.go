package cli

import "regexp"

// The passwords of URLs: what stands between the colon after the user's name and the last @, which covers those whose
// special characters are not escaped, and the values of parameters that are passwords. They are found in text, and not
// in URLs that parse, since most that is said about a URL is said because it does not.
var (
	userPassword  = regexp.MustCompile("(://[^:\\s\"'`]*:)[^\\s\"'`]*@")
	wholePassword = regexp.MustCompile("(?s)(://[^:]*:).*@")
	parameter     = regexp.MustCompile("(?i)([?&][^?&=\\s\"'`]*password=)[^&\\s\"'`]*")
)

// redact takes the passwords out of the URLs in text.
func redact(text string) string {
	return parameter.ReplaceAllString(userPassword.ReplaceAllString(text, "${1}xxxxx@"), "${1}xxxxx")
}

// redactURL takes the password out of text that is a URL as a whole, white space in it included.
func redactURL(text string) string { return redact(wholePassword.ReplaceAllString(text, "${1}xxxxx@")) }
