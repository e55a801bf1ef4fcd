package source

import (
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

// TestGenerator has a Generator make the IDs of one node in two seconds: they are those of the stream.
func TestGenerator(t *testing.T) {
	const node = start >> randflake.SequenceBits & randflake.MaxNode
	now := time.Unix(randflake.Epoch+start>>secondShift, 0)
	lease := randflake.Lease{FirstNode: node, LastNode: node, Start: now, End: now.Add(2 * time.Second)}
	key := Key(5)
	secret, err := randflake.SecretFromBytes(key[:])
	if err != nil {
		t.Fatal(err)
	}
	g, err := randflake.New(secret, lease, randflake.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ids := make([]randflake.ID, 2*(randflake.MaxSequence+1))
	for _, second := range [][]randflake.ID{ids[:len(ids)/2], ids[len(ids)/2:]} {
		if _, err := g.Fill(second); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	made := make([]uint64, len(ids))
	for i, id := range ids {
		made[i] = uint64(id)
	}
	want := make([]uint64, len(ids))
	IDs(5).Fill(want)
	slices.Sort(made)
	slices.Sort(want)
	if !slices.Equal(made, want) {
		t.Error("a Generator makes other IDs than the stream has")
	}
}

func TestReader(t *testing.T) {
	want := make([]uint64, 3000)
	IDs(1).Fill(want)
	if other := IDs(2); func() bool { v := make([]uint64, 1); other.Fill(v); return v[0] == want[0] }() {
		t.Error("another seed gives the same stream")
	}
	s := IDs(1)
	head, tail := make([]byte, 5001), make([]byte, 8*len(want)-5001)
	for _, part := range [][]byte{head, tail} {
		if _, err := io.ReadFull(s, part); err != nil {
			t.Fatal(err)
		}
	}
	all := append(head, tail...)
	for i, v := range want {
		if got := binary.LittleEndian.Uint64(all[8*i:]); got != v {
			t.Fatalf("value %d is %x, not %x", i, got, v)
		}
	}
}

func TestRaw(t *testing.T) {
	raw := make([]uint64, randflake.MaxSequence+3)
	Raw().Fill(raw)
	last := raw[len(raw)-1]
	if raw[0] != start || raw[1] != start+1 || last != start+1<<secondShift+1 {
		t.Errorf("the raw values are %x, %x ... %x", raw[0], raw[1], last)
	}
}

// TestReduced compares the cipher with all its steps with the library's.
func TestReduced(t *testing.T) {
	for seed := range uint64(20) {
		all, fewer := NewReduced(Key(seed), AllSteps), NewReduced(Key(seed), 2)
		got, want, other := make([]uint64, 100), make([]uint64, 100), make([]uint64, 100)
		Encrypted(all).Fill(got)
		IDs(seed).Fill(want)
		Encrypted(fewer).Fill(other)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: the reference differs from the library", seed)
		}
		if slices.Equal(got, other) {
			t.Fatalf("seed %d: two steps give what all give", seed)
		}
	}
}
