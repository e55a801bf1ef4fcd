// Package browsertest has the test of randflaked's page in a browser. It is a module of its own for the sake of what drives the
// browser. RANDFLAKE_SCREENSHOTS names a directory for pictures of what the test sees.
package browsertest

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

// serve runs randflaked with space and counter "demo", and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "randflaked")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/randflake/randflake/service/cmd/randflaked").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	service := exec.Command(program, "--dev", "--dir", filepath.Join(t.TempDir(), "state"), "--listen", "localhost:0")
	lines, err := service.StderrPipe()
	if err == nil {
		err = service.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Process.Signal(os.Interrupt)
		service.Wait()
	})
	url, said := make(chan string, 1), ""
	go func() {
		for scanner := bufio.NewScanner(lines); scanner.Scan(); {
			if at, ok := strings.CutPrefix(scanner.Text(), "look: "); ok {
				url <- at
			}
			said += scanner.Text() + "\n"
		}
		close(url)
	}()
	at, ok := <-url
	if !ok {
		t.Fatalf("it does not serve:\n%s", said)
	}
	for ; ; time.Sleep(10 * time.Millisecond) {
		a, err := http.Get(at + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode == http.StatusOK {
			return at
		}
	}
}

// post calls a procedure, or a short path, and returns the status.
func post(t *testing.T, url, body string) int {
	t.Helper()
	a, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}

// A browser is a running one, with a page.
type browser struct {
	*testing.T
	ctx        context.Context
	complaints chan string
}

// browse starts a browser.
func browse(t *testing.T) *browser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true)))
	t.Cleanup(cancel)
	b := &browser{t, ctx, make(chan string, 100)}
	b.do(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, log.Enable, cdp.Empty{})
		return err
	}))
	entries := chromedp.Events(ctx, log.EntryAdded)
	go func() {
		for e, err := range entries {
			if err == nil && e.Entry != nil {
				b.complaints <- e.Entry.Text
			}
		}
	}()
	return b
}

// do runs actions.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatalf("%v: make browser installs what is missing", err)
	}
}

// eval returns what JavaScript says.
func eval[T any](b *browser, script string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// shows wants texts to be seen in the first element of a selector, soon: what a page says of stores may be some seconds old.
func (b *browser) shows(selector string, want ...string) {
	b.Helper()
	for end := time.Now().Add(time.Minute); ; b.do(chromedp.Sleep(200*time.Millisecond), chromedp.Reload()) {
		found := eval[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
		missing := slices.DeleteFunc(slices.Clone(want), func(part string) bool { return strings.Contains(found, part) })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%s shows %q, want %q", selector, found, missing)
		}
	}
}

// look finds the faults of the page as it is seen, and returns its ground.
func (b *browser) look(name string, s sight) string {
	b.Helper()
	name = fmt.Sprintf("%s-%d-%s", name, s.width, s.scheme)
	for _, fault := range eval[[]string](b, faults) {
		b.Errorf("%s: %s", name, fault)
	}
	if dir := os.Getenv("RANDFLAKE_SCREENSHOTS"); dir != "" {
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return s.scheme + " " + eval[string](b, "getComputedStyle(document.body).backgroundColor")
}

// emulate has the browser show pages in a way.
func (s sight) emulate() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
		return err
	})
}

// faults finds, in the page that a browser shows, what is wider than the screen and what can't be read for lack of contrast.
//
//go:embed faults.js
var faults string

// A sight is one way to look at pages.
type sight struct {
	width  int64
	scheme string
}

// TestPage: the page shows a space, a holder once there is one, a refusal once there was one, and more holders on another page;
// and it can be read on a phone and on a screen, in light and dark.
func TestPage(t *testing.T) {
	url, b := serve(t), browse(t)
	b.do(chromedp.Navigate(url))
	b.shows("#spaces", "demo", "ready", "randflake", "131071 of 131072")
	b.shows("#refusals", "none")

	for i := range 120 {
		owner := fmt.Sprintf("%012x%020x", time.Now().Unix(), i+1)
		if status := post(t, url+"/randflake.v1.LeaseService/Acquire", fmt.Sprintf(`{"space":"demo","nodes":%d,"ttlSeconds":600,"owner":%q}`, 1+i%3, owner)); status != http.StatusOK {
			t.Fatalf("acquire: status %d", status)
		}
	}
	post(t, url+"/v1/counters/demo/next?count=3", "")
	post(t, url+"/randflake.v1.IDService/Mint", `{"space":"<script>document.title='taken'</script><img src=x onerror=x>`+strings.Repeat("long", 1000)+`"}`)
	post(t, url+"/v1/spaces/demo/ids?count=70000", "")
	grounds := map[string]bool{}
	for _, s := range []sight{{390, "light"}, {390, "dark"}, {1400, "light"}, {1400, "dark"}} {
		b.do(chromedp.EmulateViewport(s.width, 900), s.emulate(), chromedp.Navigate(url))
		b.shows("#refusals", "not_found", "<script>document.title='taken'", "invalid_argument", "count 70000")
		b.shows("#spaces", "121")
		grounds[b.look("overview", s)] = true
		b.do(chromedp.Click(chromedp.CSS(`a[href="/spaces/demo"]`)), chromedp.WaitVisible(chromedp.CSS("#holders")))
		b.shows("#holders", "anyone", "randflaked")
		b.shows("#counters", "demo")
		grounds[b.look("space", s)] = true
		b.do(chromedp.Click(chromedp.CSS("a[rel=next]")), chromedp.WaitNotPresent(chromedp.CSS("a[rel=next]")))
		b.shows("#holders", "anyone")
	}
	if len(grounds) != 2 {
		t.Errorf("grounds %v, want one for light and one for dark", grounds)
	}
	if title := eval[string](b, "document.title"); title != "demo · randflaked" {
		t.Errorf("title %q", title)
	}
	select {
	case text := <-b.complaints:
		t.Errorf("the browser complains: %s", text)
	default:
	}

	// Neither is the search for faults blind, nor would a script run.
	eval[chromedp.Void](b, `{
		const p = document.body.appendChild(document.createElement("p"));
		p.textContent = "planted"; p.style.color = "#888"; p.style.backgroundColor = "#777"; p.style.width = "5000px";
		document.body.appendChild(document.createElement("script")).textContent = "window.ran = true";
	}`)
	found, ran := strings.Join(eval[[]string](b, faults), "\n"), eval[bool](b, "window.ran === true")
	if !strings.Contains(found, "wider") || !strings.Contains(found, "contrast") || !strings.Contains(found, "beyond") || ran {
		t.Errorf("planted faults: found %q; a script ran: %v", found, ran)
	}
	if text := <-b.complaints; !strings.Contains(text, "Content Security Policy") {
		t.Errorf("of a script that it does not run the browser says %q", text)
	}
}
