package counter

import (
	"bytes"
	"errors"
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/file"
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
	f.Add([]byte("1 1 9 0 0 3 0 18446744073709551613 0 0 0 1 0 0 0 0000000000000000 e"))
	f.Add([]byte("1 +1 9 0 -0 3 3 0 0 0 0 1 3 0 0 ABCDEF0123456789 \xff"))
	f.Add([]byte("0 1 9223372036854775807 0 0 18446744073709551615 18446744073709551615 0 0 0 0 1 0 0 0 0000000000000000 e"))
	f.Add([]byte("1 1 9 0 0 3 2 0 1 9 10 1 0 0 0 0000000000000000 e"))
	f.Add([]byte("1 1 9 0 0 3 3 0 0 0 0 1 3 0 0 000000000000000g e"))
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

// TestClosedPart: a goroutine that stopped just before it takes a number gets none from a part that was given back meanwhile.
func TestClosedPart(t *testing.T) {
	space, err := file.Create(t.TempDir(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	c, err := On(space).Open(t.Context(), "orders", OrCreate(), Unordered(), WithRunLength(1e7, 1e7))
	if err != nil {
		t.Fatal(err)
	}
	for want := range int64(2) { // the second one from a part
		if n, err := c.Next(); n != want+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	var held []*run
	for i := range c.parts {
		held = append(held, c.parts[i].Load())
	}
	if n, err := c.Return(t.Context()); n != 1e7-2 || err != nil {
		t.Errorf("%d returned, %v", n, err)
	}
	for _, b := range held {
		if n, _ := b.take(make([]int64, 1)); n != 0 {
			t.Error("a number after its part was given back")
		}
	}
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
