package lease_test

import (
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/storetest"
)

// A copy of a process, as of a virtual machine that was cloned with its memory, makes the same IDs as the original,
// and when the original has given its lease back, the same as whoever gets its nodes next. That ends with the copy's
// next renewal, at a third of the TTL and a tenth of that, though there are no other nodes that it could have.
func TestCopyAndInnocentThird(t *testing.T) {
	inTown(t, func(w *town) {
		half := lease.WithNodes(1 << 16)
		original := w.keep(half)
		twin := w.twin(original, half)
		w.keep(half)
		copied := time.Now()
		made := map[randflake.ID]bool{}
		for range 20 {
			id, err := original.Generator().Generate()
			if err != nil {
				t.Fatal(err)
			}
			made[id] = true
			time.Sleep(time.Second)
		}
		if err := original.Close(); err != nil {
			t.Fatal(err)
		}
		third := w.keep(half)
		repeats, last := 0, time.Time{}
		for range int(3 * ttl / time.Second) {
			for _, k := range []*lease.Keeper[*randflake.Generator]{third, twin} {
				if id, err := k.Generator().Generate(); err == nil {
					if made[id] {
						repeats, last = repeats+1, time.Now()
					}
					made[id] = true
				}
			}
			time.Sleep(time.Second)
		}
		if repeats == 0 {
			t.Error("no ID was repeated: want some, or this shows nothing")
		}
		if after := last.Sub(copied); after > ttl/3+ttl/30 {
			t.Errorf("an ID was repeated %v after the copy was made", after)
		}
		if s := twin.Status(); s.Frozen != 1 || s.Healthy {
			t.Errorf("status of the copy: %+v; want it frozen", s)
		}
		w.generate(third)
	})
}

// A copy whose renewal has an unknown outcome does not take its twin's renewal for its own: it knows the token of its own.
func TestCopyInDoubt(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{
		"request lost": {Err: storetest.ErrInjected},
		"reply lost":   {After: true},
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(w *town) {
				a := w.keep()
				b := w.twin(a)
				w.inject(once(storetest.Renew, fault))
				time.Sleep(2 * 110 * time.Second)
				x, y := a.Status(), b.Status()
				if x.Lost+y.Lost != 1 || x.Frozen+y.Frozen != 1 || x.Record.Owner == y.Record.Owner {
					t.Errorf("%+v and %+v: want one of them to have lost the lease", x, y)
				}
			})
		})
	}
}

func TestTokenText(t *testing.T) {
	now := time.Unix(1767268800, 0)
	token := lease.NewToken(now)
	text, err := token.MarshalText()
	if err != nil || token.Second() != now.Unix() || token == lease.NewToken(now) {
		t.Errorf("token %s of second %d, %v", text, token.Second(), err)
	}
	var got lease.Token
	if err := got.UnmarshalText(text); err != nil || got != token {
		t.Errorf("%s became %v, %v", text, got, err)
	}
	for _, bad := range []string{"", string(text[1:]), string(text) + "00", "g" + string(text[1:])} {
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != token {
			t.Errorf("from %q: %v, %v; want an error and the token unchanged", bad, got, err)
		}
	}
}
