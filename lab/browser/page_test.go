// Package browsertest has the test of randflaked's page in a browser.
package browsertest

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
)

// serve runs randflaked with space and counter "demo", and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	program, err := servers.Tool(".", "github.com/randflake/randflake/service/cmd/randflaked")
	require.NoError(t, err)
	s, err := servers.New("randflaked", t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { s.Kill() })
	url := "http://" + s.Addr()
	cmd := exec.Command(program, "--dev", "--dir", filepath.Join(s.Dir(), "state"), "--listen", s.Addr())
	require.NoError(t, s.Launch(cmd, servers.Ready(url+"/readyz")))
	return url
}

// brokenWords are the words of a page that go on in another line.
const brokenWords = `(() => {
	const broken = [];
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		for (const word of texts.currentNode.data.matchAll(/[^\s-]+/g)) {
			const range = document.createRange();
			range.setStart(texts.currentNode, word.index);
			range.setEnd(texts.currentNode, word.index + word[0].length);
			const lines = new Set([...range.getClientRects()].map(box => box.top));
			if (lines.size > 1) broken.push(word[0]);
		}
	}
	return broken.join(" ");
})()`

// TestPage: the page shows a space, its counters and until when IDs last, fits a phone and a screen
// without a break in a word, and runs no script.
func TestPage(t *testing.T) {
	url := serve(t)
	for _, counter := range []string{"orders", "certificates-of-the-year-2026"} {
		a, err := http.Post(url+"/randflake.v1.CounterService/Next", "application/json", strings.NewReader(`{"space":"demo","counter":"`+counter+`","count":3}`))
		require.NoError(t, err)
		a.Body.Close()
	}
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir())))
	defer cancel()
	for _, width := range []int64{390, 1400} {
		err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url))
		require.Must(t, err == nil, "%v: make browser installs what is missing", err)
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
		require.NoError(t, err)
		for _, want := range []string{"is ready", "demo", "The store answers. IDs last until 20", "of 131072 nodes of this window are taken", "orders\t11\tnone", "demo ready"} {
			require.Contains(t, text, want, "the page")
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth"))
		require.That(t, err == nil && int64(wide) <= width, "it is %d pixels wide, of %d, %v", wide, width, err)
		broken, err := chromedp.Run(ctx, chromedp.Evaluate[string](brokenWords))
		require.NoError(t, err)
		require.Equal(t, broken, "", "words that are broken at %d pixels", width)
	}
	looks, err := chromedp.Run(ctx, chromedp.Evaluate[string](`getComputedStyle(document.querySelector("td + td")).textAlign + " " + getComputedStyle(document.querySelector("h2 .state")).backgroundColor`))
	require.NoError(t, err)
	require.Equal(t, looks, "right rgb(26, 127, 55)", "how numbers and the state look")
	ran, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.body.appendChild(document.createElement("script")).textContent = "window.ran = true"; window.ran === true`))
	require.That(t, err == nil && !ran, "a script ran: %v, %v", ran, err)
}
