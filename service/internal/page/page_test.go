package page

import (
	"math"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// elements are all that a page has.
var elements = "html head meta title link style body header a svg path span p b time main h1 h2 ul li section table thead tbody tr th td rect div nav br dl dt dd code footer"

// problems returns what must not be in a page, whatever names are in it.
func problems(text string) (found []string) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode || n.Type == html.ElementNode && !slices.Contains(strings.Fields(elements), n.Data) {
			found = append(found, "<"+n.Data+">")
		}
		for _, a := range n.Attr {
			icon := n.Data == "link" && strings.HasPrefix(a.Val, "data:image/svg+xml,")
			here := strings.HasPrefix(a.Val, "?") || strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") && !strings.HasPrefix(a.Val, "/\\")
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "href" && !icon && !here {
				found = append(found, a.Key+"="+a.Val)
			}
		}
	}
	return found
}

// render returns the pages with a text wherever there may be one.
func render(t *testing.T, text string) (pages []string) {
	t.Helper()
	now := time.Unix(1795356718, 0)
	frame := Frame{Replica: text, Started: now.Add(-time.Hour), At: now, Trouble: text}
	space := Space{Name: text, Kind: text, Secret: text, Engine: text, Trouble: text, Known: true, Unknown: text, Holders: 1, Nodes: 1024, Leased: 7, Losses: 2}
	counters := []Counter{{Name: text, Space: text, Next: math.MinInt64, Left: math.MaxUint64, Used: 0.5, Changed: now, Forgotten: true}, {}}
	loss := Loss{Space: text, Times: 1, Floor: now, BarredFrom: now, Barred: now}
	pager := Page(1000, "holders", url.Values{"holders": {"3"}})
	for _, data := range []any{
		Overview{Frame: frame, Spaces: []Space{space, {}}, SpacePages: pager, Renewals: []Bar{{text, 3, 1}}, Renewed: 3, Counters: counters, CounterPages: pager,
			Refusals: []Refusal{{now, text, text, text, text, text}, {}}, RefusalPages: pager, Losses: []Loss{loss, {}}},
		Overview{},
		Detail{Frame: frame, Space: space, Where: text, Own: &Own{Trouble: text}, Holders: []Holder{{First: 1, Last: 9, Principal: text, Lease: text}, {}},
			HolderPages: pager, Strip: []Cell{{0, 511, 0.5}, {512, 1023, 1}}, Loss: loss, Counters: counters},
		Detail{NoHolders: text},
	} {
		w := httptest.NewRecorder()
		if err := Write(w, data); err != nil {
			t.Fatal(err)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy %q", policy)
		}
		pages = append(pages, w.Body.String())
	}
	return pages
}

// FuzzPages: no text makes an element, an attribute, or a link to elsewhere.
func FuzzPages(f *testing.F) {
	for _, text := range []string{"orders", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "javascript:alert(1)", "//evil.example", `\\evil.example`,
		"</style><style>*{display:none}", "'\" onmouseover=alert(1) x='", "{{.}}", "<!--", "]]>", "\x00\xff\u202e", "?next=//evil.example", "../..", strings.Repeat("x", 5000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, page := range render(t, text) {
			for _, problem := range problems(page) {
				t.Errorf("%q makes %s", text, problem)
			}
		}
	})
}

// TestProblems: what a careless template would let through is found.
func TestProblems(t *testing.T) {
	for _, bad := range []string{"<script>x</script>", "<img src=x>", "<!-- x -->", "<p onclick=x>", "<p style=x>", "<a href=//evil.example>", "<a href=javascript:x>"} {
		if found := problems(bad); len(found) == 0 {
			t.Errorf("%s is not found", bad)
		}
	}
}

func TestPage(t *testing.T) {
	for _, tt := range []struct {
		total int
		asked string
		want  Pager
	}{
		{0, "", Pager{0, 0, 0, "", ""}},
		{50, "", Pager{0, 50, 50, "", ""}},
		{51, "", Pager{0, 50, 51, "", "?k=2#k"}},
		{51, "2", Pager{50, 51, 51, "?k=1#k", ""}},
		{10000, "7", Pager{300, 350, 10000, "?k=6#k", "?k=8#k"}},
		{51, "99999999999999999999", Pager{50, 51, 51, "?k=1#k", ""}},
		{51, "9", Pager{50, 51, 51, "?k=1#k", ""}},
		{51, "-1", Pager{0, 50, 51, "", "?k=2#k"}},
		{51, "<x>", Pager{0, 50, 51, "", "?k=2#k"}},
	} {
		if got := Page(tt.total, "k", url.Values{"k": {tt.asked}}); got != tt.want {
			t.Errorf("%d rows, %q: %+v, want %+v", tt.total, tt.asked, got, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for value, want := range map[any]string{0: "0", 999: "999", uint32(1000): "1,000", -1234567: "−1,234,567", uint64(math.MaxUint64): "1.84 × 10¹⁹",
		int64(math.MinInt64): "−9.22 × 10¹⁸", 999999999999999: "999,999,999,999,999"} {
		if got := Number(value); got != want {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
	}
	now := time.Unix(1795356718, 0)
	for d, want := range map[time.Duration]string{0: "in 0 s", 90 * time.Second: "in 1 min 30 s", -time.Hour: "1 h 0 min ago", 50 * time.Hour: "in 2 d 2 h"} {
		if got := relative(now, now.Add(d)); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for part, want := range map[float64]int{0: 0, 0.01: 1, 0.5: 2, 0.51: 3, 1: 4, 2: 4, -1: 0} {
		if got := shade(part); got != want {
			t.Errorf("shade of %v: %d, want %d", part, got, want)
		}
	}
}
