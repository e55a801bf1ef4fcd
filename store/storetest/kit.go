package storetest

import (
	"testing"

	"github.com/randflake/randflake/store"
)

// Entry returns an entry as a list, for Swap. Without a value it says that there is none.
func Entry(name, value string) []store.Entry {
	if value == "" {
		return []store.Entry{{Name: name}}
	}
	return []store.Entry{{Name: name, Value: []byte(value)}}
}

// Put puts an entry, whatever it was. The test ends unless it takes effect.
func Put(t testing.TB, e store.Engine, name, value string) store.Answer {
	t.Helper()
	a, err := e.Swap(t.Context(), nil, Entry(name, value))
	if err != nil || !a.Swapped {
		t.Fatalf("put %s: %+v, %v", name, a, err)
	}
	return a
}

// Get returns an entry's value, "" for none, and the evidence.
func Get(t testing.TB, e store.Engine, name string) (string, store.Evidence) {
	t.Helper()
	a, err := e.Read(t.Context(), []string{name}, store.Page{})
	if err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	return string(a.Named[0].Value), a.Evidence
}

// Lineages are those seen so far, each with where that was.
type Lineages map[string]string

// WantNew checks that an engine has another lineage than all before, and an entry a that is 1: else it would be other data.
func (l Lineages) WantNew(t testing.TB, where string, e store.Engine) {
	t.Helper()
	value, seen := Get(t, e, "a")
	if value != "1" {
		t.Errorf("%s: the entry is %q: the test shows nothing", where, value)
	}
	if other, found := l[seen.Lineage]; found || len(seen.Lineage) > 200 {
		t.Errorf("%s: lineage %s, as %s", where, seen.Lineage, other)
	}
	l[seen.Lineage] = where
}
