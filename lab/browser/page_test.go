// Package browsertest has the test of randflaked's page in a browser.
package browsertest

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	url := make(chan string, 1)
	said := ""
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

// TestPage: the page shows a space, its counter and until when IDs last, fits a phone and a screen,
// and runs no script.
func TestPage(t *testing.T) {
	url := serve(t)
	a, err := http.Post(url+"/randflake.v1.CounterService/Next", "application/json", strings.NewReader(`{"space":"demo","counter":"orders","count":3}`))
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir())))
	defer cancel()
	for _, width := range []int64{390, 1400} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url)); err != nil {
			t.Fatalf("%v: make browser installs what is missing", err)
		}
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"is ready", "demo", "The store answers. IDs last until 20", "of 131072 nodes of this window are taken", "orders\t11\t"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q on the page:\n%s", want, text)
			}
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth"))
		if err != nil || int64(wide) > width {
			t.Errorf("it is %d pixels wide, of %d, %v", wide, width, err)
		}
	}
	ran, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.body.appendChild(document.createElement("script")).textContent = "window.ran = true"; window.ran === true`))
	if err != nil || ran {
		t.Errorf("a script ran: %v, %v", ran, err)
	}
}
