// Package leaktest finds secrets in what the standard library prints of values.
package leaktest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	html "html/template"
	"log/slog"
	"strings"
	text "text/template"
)

// Output returns what verbs and encoders make of a value, alone, in lists, in maps, and in fields
// that they don't see. Errors are part of it.
func Output[K comparable](v K) map[string]string {
	return output(v, verbs+"pw", v, &v, []K{v}, map[K]bool{v: true}, struct{ hidden K }{v})
}

// ByMethods returns what of it the methods of the value decide.
func ByMethods[K comparable](v K) map[string]string {
	return output(v, verbs, v, &v, []K{v}, map[K]bool{v: true}, struct{ Seen K }{v})
}

const verbs = "vTtbcdoOqxXUeEfFgGs"

func output[K comparable](v K, verbs string, values ...any) map[string]string {
	var gobbed, logged bytes.Buffer
	data, err := json.Marshal([]any{v, map[K]int{v: 1}})
	gobErr := gob.NewEncoder(&gobbed).Encode(v)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("", "v", v, "list", []K{v})
	slog.New(slog.NewTextHandler(&logged, nil)).Info("", "v", v, "list", []K{v})
	all := map[string]string{
		"JSON": fmt.Sprintf("%s %v", data, err),
		"gob":  fmt.Sprint(gobbed.String(), gobErr),
		"slog": logged.String(),
		"page": page(v),
	}
	for _, verb := range verbs {
		for _, flags := range []string{"", "+", "#", "-30", " "} {
			format := "%" + flags + string(verb)
			all[format] = fmt.Sprintf(strings.Repeat(format+"\n", len(values)), values...)
		}
	}
	return all
}

// page returns what templates of both packages make of a value and of a field, also in the contexts
// in which html/template encodes.
func page[K comparable](v K) string {
	const plain = `{{.}} {{printf "%d" .}} {{print .}} {{urlquery .}} {{js .}} {{html .}}`
	const contexts = `<a href="/{{.}}?id={{.}}" title={{.}} onclick="f({{.}})">{{.}}</a> <script>let id = {{.}}</script>`
	var b bytes.Buffer
	for _, value := range []any{v, []K{v}, struct{ Seen K }{v}} {
		err := text.Must(text.New("").Parse(plain)).Execute(&b, value)
		htmlErr := html.Must(html.New("").Parse(contexts)).Execute(&b, value)
		fmt.Fprintln(&b, err, htmlErr)
	}
	return b.String()
}

// Find tells in which form text shows four bytes of the secret in a row, or a word, or nothing
// where it does not.
func Find(text string, secret []byte) string {
	plain := strings.NewReplacer(",", "", "0x", "", "+", "").Replace(strings.ToLower(text))
	flat := strings.Join(strings.Fields(plain), " ")
	for i := range len(secret) - 5 {
		part := secret[i : i+4]
		for _, form := range []string{
			string(part),
			fmt.Sprintf("%x", part),
			fmt.Sprintf("% x", part),
			strings.Trim(fmt.Sprint(part), "[]"),
			base64.StdEncoding.EncodeToString(secret[i : i+6]),
			fmt.Sprint(binary.LittleEndian.Uint32(part)),
			fmt.Sprint(binary.BigEndian.Uint32(part)),
		} {
			if strings.Contains(text, form) || strings.Contains(flat, form) {
				return fmt.Sprintf("%q", form)
			}
		}
	}
	return ""
}
