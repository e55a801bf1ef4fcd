package counter

import (
	"bytes"
	"errors"
	"testing"

	"github.com/randflake/randflake/store"
)

// FuzzDecode: what is decoded is a counter whose books balance, and is written as it was; everything else is refused.
func FuzzDecode(f *testing.F) {
	r := (&settings{}).shape()
	r.Version, r.Generation, r.Position, r.Taken, r.Run = 1, "0123", 7, 7, 7
	f.Add(r.item("orders").Body)
	f.Add([]byte("1 1 9 0 0 3 3 0 0 0 0 1 3 0 0 0000000000000000 e"))
	f.Add([]byte("1 1 9 0 0 3 9 6 0 0 0 1 4 1 1 0000000000000000 e"))
	f.Add([]byte("1 0 9 0 0 3 3 0 0 0 0 1 3 0 0 0000000000000000 e"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(store.Item{Name: prefix + "orders", Second: 5, Body: body})
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%v, want ErrCorrupt", err)
			}
			return
		}
		if r == nil {
			if body != nil {
				t.Errorf("nothing in %q", body)
			}
			return
		}
		if err := r.check(); err != nil || r.left() > r.size() || r.left() > 0 && (r.number(r.Position) < r.Start || r.number(r.Position) > r.End) {
			t.Errorf("%+v, %v", r, err)
		}
		again, err := decode(r.item("orders"))
		if err != nil || *again != *r {
			t.Errorf("%+v after %+v, %v", again, r, err)
		}
	})
}

// TestRecordIsWrittenBack: an item that was read and is expected unchanged has the bytes that are in the store.
func TestRecordIsWrittenBack(t *testing.T) {
	r := &record{Start: 5, Stride: 10, End: 1 << 62, Rate: 3, Position: 9, Budget: -4, Taken: 8, Returned: 1, Skipped: 2, SkipFrom: 3, SkipTo: 4, Version: 6, Token: token{1, 2},
		Run: 2, Born: 5, Deleted: true, Generation: "abc", Second: 1769860800}
	again, err := decode(r.item("orders"))
	if err != nil || *again != *r || !bytes.Equal(again.item("orders").Body, r.item("orders").Body) {
		t.Errorf("%+v, %v, want %+v", again, err, r)
	}
}
