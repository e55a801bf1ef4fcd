// Package stored writes what stores have in JSON, so that processes of two versions can share them: keys that
// a newer program has added stay when this one rewrites what has them. What an older program must not
// rewrite has another format, which it refuses.
package stored

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Encode returns v, a struct, as JSON, and with it the keys of before that v does not have. before is what v
// was made of; nil stands for nothing. Of two values of a key the later one counts:
//
//	v         struct{ Next int `json:"next"` }{43}
//	before    {"next":42,"newer":true}
//	result    {"next":43,"newer":true}
func Encode(v any, before ...[]byte) ([]byte, error) {
	others, err := Others(v, before...)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err != nil || others == nil {
		return text, err
	}
	return slices.Concat(text[:len(text)-1], []byte(","), others[1:]), nil
}

// Others returns, as JSON, the keys of before that v does not have, or nil if there are none.
func Others(v any, before ...[]byte) ([]byte, error) {
	others := map[string]json.RawMessage{}
	for _, value := range before {
		if value == nil {
			continue
		}
		if err := json.Unmarshal(value, &others); err != nil {
			return nil, err
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(v)) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		// Package json takes keys for the same whatever their case, and the last one counts.
		maps.DeleteFunc(others, func(other string, _ json.RawMessage) bool { return strings.EqualFold(other, key) })
	}
	if len(others) == 0 {
		return nil, nil
	}
	return json.Marshal(others)
}
