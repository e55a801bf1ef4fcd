package tlsfiles_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/internal/tlsfiles"
)

func TestTake(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	large := filepath.Join(t.TempDir(), "large.pem")
	require.NoError(t, os.WriteFile(large, make([]byte, 1<<20+1), 0o600))
	query := url.Values{"other": {"1"}}
	if config, err := tlsfiles.Take(query); config != nil || err != nil || len(query) != 1 {
		t.Errorf("none given: %v, %v, %v left", config, err, query)
	}
	for text, want := range map[string]string{
		"ca=" + empty:                       "no certificate",
		"ca=/nowhere":                       "/nowhere",
		"certificate=" + empty:              "certificate=" + empty,
		"certificate=/nowhere&key=" + empty: "/nowhere",
		"certificate=" + large:              "more than",
	} {
		query, _ := url.ParseQuery(text)
		if _, err := tlsfiles.Take(query); err == nil || !strings.Contains(err.Error(), want) || len(query) != 0 {
			t.Errorf("%s: %v, want it to tell %s", text, err, want)
		}
	}
}
