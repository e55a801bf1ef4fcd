package enginetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

// URLs are those of an engine. No error may show the password.
type URLs struct {
	Password string
	Right    []string          // Check and Connect take them
	Wrong    map[string]string // Check and Connect refuse them, by an error that has this in it
	Failing  map[string]string // Check takes them; Connect or a call fails so
}

// TestURLs tests an engine's functions Check and Connect.
func TestURLs[E lease.Engine](
	t *testing.T, check func(url string) error, connect func(ctx context.Context, url string) (E, error), urls URLs,
) {
	hidden := func(url string) string {
		if urls.Password == "" {
			return url
		}
		return strings.ReplaceAll(url, urls.Password, "...")
	}
	want := func(what, url string, err error, part string) {
		t.Helper()
		require.ErrorSays(t, err, part, "%s %s", what, hidden(url))
		if urls.Password != "" && strings.Contains(fmt.Sprintf("%v %+v", err, err), urls.Password) {
			t.Errorf("%s %s shows the password", what, hidden(url))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, url := range urls.Right {
		e, err := connect(ctx, url)
		if err != nil || check(url) != nil {
			t.Errorf("%s: Connect: %v, Check: %v", hidden(url), err, check(url))
			continue
		}
		e.Close()
	}
	for url, part := range urls.Wrong {
		_, err := connect(ctx, url)
		want("Connect", url, err, part)
		want("Check", url, check(url), part)
	}
	for url, part := range urls.Failing {
		err := check(url)
		require.That(t, err == nil, "Check %s: %v", hidden(url), err)
		e, err := connect(ctx, url)
		if err == nil {
			_, err = e.Read(ctx, "a")
			e.Close()
		}
		want("Read", url, err, part)
	}
}
