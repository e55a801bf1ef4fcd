package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/randflake/randflake/service/client"
)

// TestNew: addresses that can't be are refused, and no password in one is shown.
func TestNew(t *testing.T) {
	for _, addresses := range [][]string{nil, {"ids:8080"}, {"https://"}, {"https://me:pass-word@ids"}, {"http://ids", "::"}} {
		if _, err := client.New("demo", addresses); err == nil || strings.Contains(fmt.Sprint(err), "pass-word") {
			t.Errorf("%d addresses: error %v, want one that shows no password", len(addresses), err)
		}
	}
}
