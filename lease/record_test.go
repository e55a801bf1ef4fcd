package lease_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

func TestRecordLease(t *testing.T) {
	r := lease.Record{FirstNode: 4, LastNode: 7, Owner: alice, Version: 1, Start: noon, HighWater: noon + 59}
	want := randflake.Lease{FirstNode: 4, LastNode: 7, Start: time.Unix(noon, 0).UTC(), End: time.Unix(noon+60, 0).UTC()}
	if got := r.Lease(); got != want {
		t.Errorf("Lease of %+v: %+v, want %+v", r, got, want)
	}
	if got := r.Nodes(); got != 4 {
		t.Errorf("%d nodes, want 4", got)
	}
}

func TestOwnerText(t *testing.T) {
	want := lease.Owner{0: 0x0f, 15: 0xa0}
	const text = "0f0000000000000000000000000000a0"
	if got := want.String(); got != text {
		t.Errorf("String: %s, want %s", got, text)
	}
	b, err := json.Marshal(want)
	if err != nil || string(b) != `"`+text+`"` {
		t.Errorf("as JSON: %s, %v", b, err)
	}
	var got lease.Owner
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("from JSON: %v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", text[1:], text + "00", strings.Replace(text, "a", "g", 1)} {
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != want {
			t.Errorf("from %q: %v, %v; want an error and the owner unchanged", bad, got, err)
		}
	}
}
