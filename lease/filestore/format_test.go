package filestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// sampleState returns a state of n records with random content that makes sense.
func sampleState(seed uint64, n int) state {
	rng := rand.New(rand.NewPCG(seed, 4))
	st := state{
		incarnation: [16]byte{1, byte(seed)},
		revision:    1 + rng.Uint64N(1<<40),
		rules:       lease.Rules{MaxTTL: time.Duration(1+rng.IntN(9999)) * time.Second, MaxSkew: time.Duration(rng.IntN(99)) * time.Second},
		notBefore:   rng.Int64N(2) * (randflake.Epoch + rng.Int64N(1000)),
		records:     []lease.Record{},
	}
	for node := uint32(0); len(st.records) < n; {
		last := node + rng.Uint32N(9)
		begin := randflake.Epoch + rng.Int64N(1<<30)
		st.records = append(st.records, lease.Record{
			FirstNode: node, LastNode: last,
			Owner:     lease.Owner{byte(rng.IntN(2))},
			Version:   1 + rng.Uint64N(1<<40),
			Start:     begin,
			HighWater: min(begin-1+rng.Int64N(5000), randflake.MaxTimestamp),
		})
		node = last + 1 + rng.Uint32N(5)
	}
	return st
}

func TestEncodeDecode(t *testing.T) {
	for seed := range uint64(50) {
		want := sampleState(seed, int(seed))
		b := encode(want)
		got, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		want.sum = sumOf(b)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("decode(encode(x)) = %+v, want %+v", got, want)
		}
	}
}

func TestEncodeFullStore(t *testing.T) {
	st := sampleState(1, 0)
	for node := range uint32(randflake.MaxNode + 1) {
		st.records = append(st.records, lease.Record{FirstNode: node, LastNode: node, Version: 1, Start: noon.Unix(), HighWater: noon.Unix()})
	}
	b := encode(st)
	if len(b) != maxSize {
		t.Errorf("%d bytes, want maxSize, %d", len(b), maxSize)
	}
	if got, err := decode(b); err != nil || len(got.records) != len(st.records) {
		t.Errorf("decode: %d records, %v", len(got.records), err)
	}
}

// TestFormatIsPinned: files written by this version must open for good.
func TestFormatIsPinned(t *testing.T) {
	st := state{
		incarnation: [16]byte{0: 0xa0, 15: 0xaf}, revision: 0x0102030405060708,
		rules: lease.Rules{MaxTTL: 3600 * time.Second, MaxSkew: 60 * time.Second}, notBefore: 1767268800,
		records: []lease.Record{{FirstNode: 0x1_0000, LastNode: 0x1_ffff, Owner: lease.Owner{0: 0xb0, 15: 0xbf}, Version: 7, Start: 1767268801, HighWater: 1767268900}},
	}
	want := "RFLEASES\x00\x00\x00\x01\x00\x00\x00\x01" +
		"\xa0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xaf" +
		"\x01\x02\x03\x04\x05\x06\x07\x08" + "\x00\x00\x00\x00\x00\x00\x0e\x10" + "\x00\x00\x00\x00\x00\x00\x00\x3c" + "\x00\x00\x00\x00\x69\x56\x61\xc0" +
		"\x00\x01\x00\x00\x00\x01\xff\xff" +
		"\xb0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xbf" +
		"\x00\x00\x00\x00\x00\x00\x00\x07" + "\x00\x00\x00\x00\x69\x56\x61\xc1" + "\x00\x00\x00\x00\x69\x56\x62\x24"
	sum := sha256.Sum256([]byte(want))
	if got := string(encode(st)); got != want+string(sum[:]) {
		t.Errorf("encode:\n%x, want\n%x%x", got, want, sum)
	}
}

// resum gives b a checksum that matches, so that the checks behind it are reached.
func resum(b []byte) []byte {
	sum := sha256.Sum256(b[:len(b)-sumSize])
	return append(b[:len(b)-sumSize:len(b)-sumSize], sum[:]...)
}

func TestDecodeRefuses(t *testing.T) {
	put32 := binary.BigEndian.PutUint32
	put64 := binary.BigEndian.PutUint64
	const record0, record1 = headerSize, headerSize + recordSize
	for _, tt := range []struct {
		says  string
		spoil func(b []byte) []byte
	}{
		{"too short", func(b []byte) []byte { return b[:headerSize+sumSize-1] }},
		{"too short", func([]byte) []byte { return nil }},
		{"starts with", func(b []byte) []byte { b[0]++; return resum(b) }},
		{"format version 2", func(b []byte) []byte { put32(b[8:], 2); return resum(b) }},
		{"more than there are nodes", func(b []byte) []byte { put32(b[12:], 1<<31); return resum(b) }},
		{"3 records take", func(b []byte) []byte { put32(b[12:], 3); return resum(b) }},
		{"1 records take", func(b []byte) []byte { put32(b[12:], 1); return resum(b) }},
		{"2 records take", func(b []byte) []byte { return resum(append(b, 0)) }},
		{"checksum", func(b []byte) []byte { b[len(b)-1]++; return b }},
		{"no incarnation", func(b []byte) []byte { clear(b[16:32]); return resum(b) }},
		{"no revision", func(b []byte) []byte { clear(b[32:40]); return resum(b) }},
		{"max TTL", func(b []byte) []byte { clear(b[40:48]); return resum(b) }},
		{"rules allow", func(b []byte) []byte { put64(b[40:], 1<<62); return resum(b) }},
		{"rules allow", func(b []byte) []byte { put64(b[48:], 1<<63); return resum(b) }},
		{"format's end", func(b []byte) []byte { put64(b[56:], 1<<63); return resum(b) }},
		{"format's end", func(b []byte) []byte { put64(b[56:], uint64(randflake.MaxTimestamp)+1); return resum(b) }},
		{"record 0: nodes", func(b []byte) []byte { put32(b[record0:], 1<<31); return resum(b) }},
		{"record 1: nodes", func(b []byte) []byte { put32(b[record1+4:], randflake.MaxNode+1); return resum(b) }},
		{"record 1: first node", func(b []byte) []byte { put32(b[record1:], 0); return resum(b) }},
		{"record 0: no version", func(b []byte) []byte { clear(b[record0+24 : record0+32]); return resum(b) }},
		{"record 0: start", func(b []byte) []byte { put64(b[record0+32:], uint64(randflake.Epoch)-1); return resum(b) }},
		{"record 0: start", func(b []byte) []byte { put64(b[record0+32:], uint64(randflake.MaxTimestamp)+1); return resum(b) }},
		{"record 0: high-water", func(b []byte) []byte {
			put64(b[record0+40:], binary.BigEndian.Uint64(b[record0+32:])-2)
			return resum(b)
		}},
		{"record 0: high-water", func(b []byte) []byte { put64(b[record0+40:], uint64(randflake.MaxTimestamp)+1); return resum(b) }},
	} {
		_, err := decode(tt.spoil(encode(sampleState(3, 2))))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("error %v, want one that says %q", err, tt.says)
		}
	}
}

// FuzzDecode: what decode accepts is exactly what encode makes of it. Every second input gets a
// checksum that matches, so that the fuzzer sees what lies behind it.
func FuzzDecode(f *testing.F) {
	for n := range 4 {
		f.Add(encode(sampleState(uint64(n), n)), n%2 == 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix && len(b) >= sumSize {
			b = resum(b)
		}
		st, err := decode(b)
		if err != nil {
			return
		}
		if again := encode(st); !bytes.Equal(again, b) {
			t.Errorf("accepted %x, which encodes as %x", b, again)
		}
		for i, r := range st.records {
			if r.FirstNode > r.LastNode || r.LastNode > randflake.MaxNode || i > 0 && st.records[i-1].LastNode >= r.FirstNode {
				t.Errorf("accepted ranges that share nodes or are none: %+v", st.records)
			}
		}
	})
}
