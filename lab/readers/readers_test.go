// Package readers gives texts of IDs to what reads numbers and words without being asked to. None
// takes one for a number, a boolean or a missing value, as all of them do with gosuda's texts.
package readers

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	burntsushi "github.com/BurntSushi/toml"
	goccy "github.com/goccy/go-yaml"
	pelletier "github.com/pelletier/go-toml/v2"
	newer "go.yaml.in/yaml/v3"
	"gopkg.in/yaml.v3"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat"
	"github.com/randflake/randflake/internal/test/require"
)

// A reader returns those of the texts that it takes for something else.
type reader func(t *testing.T, texts iter.Seq[string]) (misread []string)

func TestReaders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		read   reader
		random int    // how many random texts it gets
		gosuda string // texts of gosuda's that it must misread
	}{
		{"strconv", each(strconvReads), 10_000_000, "10 1e3 inf nan t true"},
		{"gopkg.in/yaml.v3", each(yamlReads(yaml.Unmarshal)), 200_000, "10 1e3 null true"},
		{"go.yaml.in/yaml/v3", each(yamlReads(newer.Unmarshal)), 200_000, "10 1e3 null true"},
		{"goccy/go-yaml", each(yamlReads(goccy.Unmarshal)), 200_000, "10 null true"},
		{"BurntSushi/toml", each(tomlReads(burntsushi.Unmarshal)), 200_000, "10 1e3 inf nan true"},
		{"pelletier/go-toml", each(tomlReads(pelletier.Unmarshal)), 200_000, "10 1e3 inf nan true"},
		{"Python", program(python), 200_000, "10 1e3 inf nan"},
		{"pandas", program(pandas), 20_000, "10 1e3 inf nan null true"},
		{"JavaScript", program(javaScript), 200_000, "10 1e3 12abc"},
		{"MariaDB", mariaDB, 200_000, "10 1e3 12abc"},
		{"PostgreSQL", postgres, 20_000, "10 1e3 inf nan t true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := strings.Fields(tt.gosuda)
			for _, text := range want {
				id, err := compat.DecodeString(text)
				require.That(t, err == nil && compat.EncodeString(id) == text, "%s is no text of gosuda's", text)
			}
			misread := tt.read(t, texts(want, tt.random))
			require.That(t, slices.Equal(misread, want),
				"%d texts are misread, want those of gosuda's: %.1000q", len(misread), misread)
		})
	}
}

// texts returns some texts of gosuda's, and then texts of IDs: those that begin as words do, those of
// the first IDs, and random ones, which are the same in each run.
func texts(gosuda []string, random int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, text := range slices.Concat(gosuda, wordy()) {
			if !yield(text) {
				return
			}
		}
		for i := range random/10 + 1 {
			if !yield(randflake.ID(i).String()) {
				return
			}
		}
		source := rand.New(rand.NewPCG(1, 2))
		for range random {
			if !yield(randflake.ID(source.Uint64()).String()) {
				return
			}
		}
	}
}

// words mean something to some reader, are parts of such words, or look like numbers.
const words = "null nil none no non n na nan inf infinit infin undef undefined true tru t false f on off o b e p i j l " +
	"1e5 1e308 0b101 0o17 017 0 1 9 12345 00000 31337e2 1970 20261127"

// wordy returns the texts of IDs that words can be made to: each word after each first digit and at
// each place, with the rest filled up.
func wordy() (texts []string) {
	seen := map[string]bool{}
	add := func(text string) {
		text = text[:13]
		_, err := randflake.Parse(text)
		if err == nil && !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	for _, word := range strings.Fields(words) {
		add(strings.Repeat(word, 13))
		for _, filler := range []string{"0", "1", "n"} {
			filling := strings.Repeat(filler, 13)
			add(word + filling)
			for _, first := range strings.Split("ghijklmnopqrstuv", "") {
				for n := range 13 {
					add(first + filling[:n] + word + filling)
				}
			}
		}
	}
	return texts
}
