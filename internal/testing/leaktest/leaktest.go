// Package leaktest finds secrets in what the standard library prints of values.
package leaktest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// Output returns what verbs and encoders make of a value, alone and in fields that they see and that they don't. Errors are part of it.
func Output[K comparable](v K) map[string]string {
	var gobbed, logged bytes.Buffer
	text, err := json.Marshal([]any{v, map[K]int{v: 1}})
	gobErr := gob.NewEncoder(&gobbed).Encode(v)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("", "v", v, "list", []K{v})
	all := map[string]string{"JSON": fmt.Sprintf("%s %v", text, err), "gob": fmt.Sprint(gobbed.String(), gobErr), "slog": logged.String()}
	for _, verb := range "vTtbcdoOqxXUeEfFgGspw" {
		for _, flags := range []string{"", "+", "#", "-30", " "} {
			format := "%" + flags + string(verb)
			all[format] = fmt.Sprintf(strings.Repeat(format+"\n", 5), v, &v, []K{v}, map[K]bool{v: true}, struct{ hidden K }{v})
		}
	}
	return all
}

// Find tells in which form text shows four bytes of the secret in a row, or a word, or nothing
// where it does not.
func Find(text string, secret []byte) string {
	flat := strings.Join(strings.Fields(strings.NewReplacer(",", "", "0x", "", "+", "").Replace(strings.ToLower(text))), " ")
	for i := range len(secret) - 5 {
		part := secret[i : i+4]
		for _, form := range []string{string(part), fmt.Sprintf("%x", part), fmt.Sprintf("% x", part), strings.Trim(fmt.Sprint(part), "[]"),
			base64.StdEncoding.EncodeToString(secret[i : i+6]), fmt.Sprint(binary.LittleEndian.Uint32(part)), fmt.Sprint(binary.BigEndian.Uint32(part))} {
			if strings.Contains(text, form) || strings.Contains(flat, form) {
				return fmt.Sprintf("%q", form)
			}
		}
	}
	return ""
}
