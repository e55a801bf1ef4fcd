package dieharder

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
	key := keyOf(5)
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
	streamOf(5).fill(want)
	slices.Sort(made)
	slices.Sort(want)
	if !slices.Equal(made, want) {
		t.Error("a Generator makes other IDs than the stream has")
	}
}

func TestReader(t *testing.T) {
	want := make([]uint64, 3000)
	streamOf(1).fill(want)
	if other := streamOf(2); func() bool { v := make([]uint64, 1); other.fill(v); return v[0] == want[0] }() {
		t.Error("another seed gives the same stream")
	}
	s := streamOf(1)
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
	rawStream().fill(raw)
	last := raw[len(raw)-1]
	if raw[0] != start || raw[1] != start+1 || last != start+1<<secondShift+1 {
		t.Errorf("the raw values are %x, %x ... %x", raw[0], raw[1], last)
	}
}
