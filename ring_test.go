package randflake

import (
	"slices"
	"testing"
	"time"
)

// testRing returns a secret with n keys, which share the life of the format equally, so that many raw values are left
// out.
func testRing(t testing.TB, n int) Secret {
	t.Helper()
	secret := NewSecret()
	for i := 1; i < n; i++ {
		var err error
		if secret, err = secret.Then(NewSecret(), time.Unix(Epoch+int64(i)<<TimestampBits/int64(n), 0)); err != nil {
			t.Fatal(err)
		}
	}
	return secret
}

// collision returns a raw value of key later whose ID would be that of a raw value of key earlier too, with room for
// a batch around it in its second.
func collision(r ring, earlier, later int) (raw, twin uint64) {
	for twin = r[earlier].first + 12345; ; twin++ {
		raw = decryptBlock(r[later].keys, encryptBlock(r[earlier].keys, twin))
		if sequence := raw & MaxSequence; r.at(raw) == later && sequence > 100 && sequence < MaxSequence-200 {
			return raw, twin
		}
	}
}

// TestRingLeavesOutCollisions: a generator skips exactly the raw values whose IDs an earlier key may have made, however
// it is asked, and opens its own. A generator with the later key alone makes that very ID.
func TestRingLeavesOutCollisions(t *testing.T) {
	secret := testRing(t, 3)
	r := newRing(secret)
	for _, keys := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		raw, twin := collision(r, keys[0], keys[1])
		f := unpack(raw)
		alone := secret.Keys()[keys[1]].Secret
		if NewCipher(alone).Encrypt(Raw(raw)) != NewCipher(secret).Encrypt(Raw(twin)) {
			t.Fatalf("%x and %x don't collide", raw, twin)
		}
		for _, options := range [][]Option{{Strict()}, {}} {
			generate := func(secret Secret, how int) (raws []uint64) {
				g, err := New(secret, Lease{f.Node, f.Node, f.Time, f.Time.Add(time.Second)}, append(options, WithClock(func() time.Time { return f.Time }))...)
				if err != nil {
					t.Fatal(err)
				}
				g.state.Load().cursor.next.Store(raw - 20)
				make := makers(g)[how]
				for range 64 {
					made, err := make()
					if err != nil {
						t.Fatal(err)
					}
					raws = append(raws, uint64(made))
				}
				if issued := g.Issued(); issued != 64 {
					t.Errorf("issued %d", issued)
				}
				slices.Sort(raws)
				return raws
			}
			for how := range makers(newGenerator(t, testLease(1, 1, testStart, 10))) {
				strict := len(options) > 0 // otherwise each shard has a run of its own
				if strict && !slices.Contains(generate(alone, how), raw) {
					t.Errorf("maker %d: the later key alone does not reach %x", how, raw)
				}
				raws := generate(secret, how)
				for _, made := range raws {
					if r.decrypt(r.encrypt(made)) != made {
						t.Fatalf("keys %v, maker %d: made %x, which opens to another", keys, how, made)
					}
				}
				for next := raw - 20; strict && next < raws[63]; next++ {
					if opens := r.decrypt(r.encrypt(next)) == next; opens != slices.Contains(raws, next) {
						t.Fatalf("keys %v, maker %d: made %x: %t", keys, how, next, !opens)
					}
				}
				if slices.Contains(raws, raw) {
					t.Errorf("keys %v, maker %d: made the ID of %x, which is that of %x too", keys, how, raw, twin)
				}
			}
		}
	}
}

// TestRingOpensEverything: IDs on both sides of each beginning open to what they were made of, one by one and in bulk.
func TestRingOpensEverything(t *testing.T) {
	secret := testRing(t, 3)
	c, keys, r := NewCipher(secret), secret.Keys(), newRing(secret)
	for k, key := range keys[1:] {
		now := key.From.Add(-2 * time.Second)
		g, err := New(secret, Lease{0, MaxNode, now, now.Add(5 * time.Second)}, WithClock(func() time.Time { return now }))
		if err != nil {
			t.Fatal(err)
		}
		var all []ID
		for range 4 {
			ids := make([]ID, 10_001)
			if _, err := g.Fill(ids); err != nil {
				t.Fatal(err)
			}
			one := k
			if !now.Before(key.From) {
				one++
			}
			for _, id := range ids {
				f := c.Inspect(id)
				again, err := c.Compose(f)
				if alone := NewCipher(keys[one].Secret).Decrypt(id); !f.Time.Equal(now) || alone.Fields() != f || again != id || err != nil {
					t.Fatalf("made at %v: %v opens to %+v, composed %v, %v", now, id, f, again, err)
				}
				break
			}
			all = append(all, ids...)
			now = now.Add(time.Second)
		}
		raws := make([]Raw, len(all))
		c.DecryptSlice(raws, all)
		back := make([]ID, len(all))
		c.EncryptSlice(back, raws)
		if !slices.Equal(back, all) {
			t.Errorf("key %d: IDs don't come back", k)
		}
		for i, raw := range raws {
			if c.Decrypt(all[i]) != raw || r.at(uint64(raw)) != k+i/20_002 {
				t.Fatalf("ID %d opens to %v alone, to %v in bulk", i, c.Inspect(all[i]), raw.Fields())
			}
		}
		slices.Sort(all)
		if len(slices.Compact(all)) != 40_004 {
			t.Error("an ID was made twice")
		}
	}
}
