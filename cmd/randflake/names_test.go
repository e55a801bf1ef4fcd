package main

import (
	"strings"
	"testing"

	"github.com/randflake/randflake/store/storetest"
)

// TestNames has all names of stores, right and wrong.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, n := range storetest.Names() {
		t.Run(n.Name, func(t *testing.T) {
			want := n.Wrong
			switch {
			case strings.HasPrefix(n.URL, "sqlite:"):
				want = "no store in " + n.URL
			case n.URL != "":
				want = "127.0.0.1:1" // nothing listens there
			case n.Dir != "":
				want = "no store in " + n.Dir
			}
			fail(t, []string{"lease", "list", "--store", n.Name}, want)
		})
	}
}
