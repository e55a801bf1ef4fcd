package cli

import "strings"

const redacted = "xxxxx"

// redact takes the passwords out of the URLs in text. It looks at text, and not at URLs that parse,
// since most that is said about a URL is said because it does not.
func redact(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := len(text)
		if n := strings.IndexAny(text[i:], " \t\r\n\"'`"); n >= 0 {
			end = i + n
		}
		b.WriteString(redactURL(text[:end]))
		text = text[end:]
	}
}

// redactURL takes the password out of text, which is a URL or ends with one: all from the colon after
// the user's name to the last @, which covers passwords whose special characters are not escaped; and
// the values of parameters that are passwords.
func redactURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if user, _, found := strings.Cut(rest[:at], ":"); found {
			rest = user + ":" + redacted + rest[at:]
		}
	}
	path, query, found := strings.Cut(rest, "?")
	if !found {
		return scheme + "://" + rest
	}
	parameters := strings.Split(query, "&")
	for i, parameter := range parameters {
		if name, _, found := strings.Cut(parameter, "="); found && strings.HasSuffix(strings.ToLower(name), "password") {
			parameters[i] = name + "=" + redacted
		}
	}
	return scheme + "://" + path + "?" + strings.Join(parameters, "&")
}
