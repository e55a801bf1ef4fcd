package server

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// FuzzPage: whatever a text is, the page has the same elements and attributes, and no link to elsewhere.
func FuzzPage(f *testing.F) {
	shape := func(t *testing.T, text string) (all []string) {
		in, err := space.New(config.Space{Name: text, Kind: text}, space.Options{})
		if err != nil {
			t.Fatal(err)
		}
		survey := &space.Survey{Where: text, Usage: lease.Usage{Nodes: lease.Counts{Free: 9}}, Counters: []counter.Info{{Name: text, Forgotten: true}}}
		var b bytes.Buffer
		if err := page.Execute(&b, view{Replica: text, Trouble: errors.New(text), One: in, Spaces: []surveyed{{in, survey}, {in, &space.Survey{Usage: lease.Usage{Err: errors.New(text)}}}, {in, nil}},
			Holders: []holder{{Principal: text, Name: text}}, Next: text, Unlisted: errors.New(text), Refusals: []refusal{{Principal: text, Space: text, Procedure: text, Why: text}}}); err != nil {
			t.Fatal(err)
		}
		root, err := html.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.TextNode {
				all = append(all, "<"+n.Data)
			}
			for _, a := range n.Attr {
				all = append(all, a.Key)
				if local := strings.HasPrefix(a.Val, "?after=") || strings.HasPrefix(a.Val, "/spaces/") || slices.Contains([]string{"/", "data:,"}, a.Val); a.Key == "href" && !local {
					t.Errorf("%q: a link to %q", text, a.Val)
				}
			}
		}
		return all
	}
	for _, text := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "javascript:alert(1)", "//evil.example", "</style>", "'\" onclick=x '", "{{.}}", "<!--", "\x00\xff\u202e", "../..", "x onmouseover=alert(1) href=//evil.example", "</title></textarea><svg onload=alert(1)>", "&lt;b&gt;&#x3c;b&#x3e;"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if plain, got := shape(t, "plain"), shape(t, text+"."); !slices.Equal(plain, got) {
			t.Errorf("%q changes %q to %q", text, plain, got)
		}
	})
}
