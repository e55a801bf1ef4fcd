package stored

import (
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// TestEncode: keys that the struct does not have stay as they are, and none that package json would read in place
// of one that it has.
func TestEncode(t *testing.T) {
	type inner struct {
		Next int `json:"next"`
	}
	v := struct {
		inner
		Why string `json:"why,omitempty"`
	}{inner: inner{2}}
	for _, tt := range []struct {
		before []string
		want   string
	}{
		{nil, `{"next":2}`},
		{[]string{`{}`}, `{"next":2}`},
		{[]string{`null`, `{"a":null}`}, `{"next":2,"a":null}`},
		{[]string{`{"why":"x","next":1,"b":{"next":[1, 2]},"a":1e400}`}, `{"next":2,"a":1e400,"b":{"next":[1,2]}}`},
		{[]string{`{"Next":1,"NEXT":3,"Why":"x","ne\u0078t":4}`}, `{"next":2}`},
		{[]string{`{"a":1,"a":2,"b":1}`, `{"b":3}`}, `{"next":2,"a":2,"b":3}`},
	} {
		var before [][]byte
		for _, text := range tt.before {
			before = append(before, []byte(text))
		}
		got, err := Encode(v, append(before, nil)...)
		require.That(t, err == nil && string(got) == tt.want, "%q: %s, %v, want %s", tt.before, got, err, tt.want)
	}
	for _, broken := range []string{``, `[]`, `{"a":1`, `{"a":}`, `7`} {
		_, err := Encode(v, []byte(broken))
		require.That(t, err != nil, "%q: no error", broken)
	}
}
