package config

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: whatever a file holds, it is read or refused; and what is read keeps what is promised of it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{whole, "", "~", "---\n", "# nothing\n", "[]", "a: &a [*a]", "spaces: [{name: a, kind: ulid}]", "spaces: [{name: a, kind: ulid, limits: {rate: .inf}}]",
		"spaces: &s [{name: a, kind: ulid}]\nrules: *s", "listen: localhost:1\nspaces: [{name: a, kind: \"1:2:3\", store: x}]", "<<: {listen: x}", "spaces: [null]", "? [a]\n: b", "spaces: [{name: a, kind: ulid, limits: {rate: -1}}]", "spaces: [{name: 0o7, kind: ulid, nodes: 017, limits: {rate: .nan, ttl: 1e9}}]", "spaces: [{name: a, kind: ulid}]\n---\nlisten: x", "spaces: [{name: a, kind: ulid}, {name: a, kind: ulid}]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "config: f.yaml") {
				t.Errorf("error %v: which file?", err)
			}
			return
		}
		for _, s := range c.Spaces {
			if s.Limits.Rate < 0 || math.IsInf(s.Limits.Rate, 0) || math.IsNaN(s.Limits.Rate) {
				t.Errorf("a rate of %v", s.Limits.Rate)
			}
			if _, err := s.Layout(); err != nil {
				t.Error(err)
			}
		}
		for _, r := range c.Rules {
			for _, verb := range r.Verbs {
				if !slices.Contains(Verbs, verb) {
					t.Errorf("a rule for %q", verb)
				}
			}
		}
		if !c.Guarded() && !strings.HasPrefix(c.Listen, "localhost:") && !strings.HasPrefix(c.Listen, "127.") && !strings.HasPrefix(c.Listen, "[") {
			t.Errorf("nobody is checked who comes to %s", c.Listen)
		}
	})
}
