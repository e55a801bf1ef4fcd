package etcdstore

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

var (
	someMeta = meta{
		setup.Meta{Incarnation: [16]byte{1, 2, 3}, Rules: testRules, NotBefore: 1767268800},
		0xcdf818194e3a8c32,
	}
	someRecord = lease.Record{
		FirstNode: 4, LastNode: 7, Owner: lease.Owner{9, 8, 7}, Version: 3, Start: 1767268800, HighWater: 1767268859,
	}
)

// TestGolden pins the bytes, which other releases must read.
func TestGolden(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{encodeMeta(someMeta), "52466d01010203000000000000000000000000000000000000000064000000000000000a00000000695661c0cdf818194e3a8c326a7fb46fc6e187ab"},
		{encodeRecord(someRecord), "52467201000000040000000709080700000000000000000000000000000000000000000300000000695661c000000000695661fb709907b965cba982"},
	} {
		if got := hex.EncodeToString([]byte(tt.got)); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	k := keys{"/randflake/"}
	if got, want := k.record(someRecord), "/randflake/range/02/000004"; got != want {
		t.Errorf("key %q, want %q", got, want)
	}
	all := lease.Record{LastNode: randflake.MaxNode}
	if got, want := k.record(all), "/randflake/range/17/000000"; got != want {
		t.Errorf("key %q, want %q", got, want)
	}
}

func TestDecode(t *testing.T) {
	if m, err := decodeMeta([]byte(encodeMeta(someMeta))); err != nil || m != someMeta {
		t.Errorf("%+v, %v; want %+v", m, err, someMeta)
	}
	if r, err := decodeRecord([]byte(encodeRecord(someRecord))); err != nil || r != someRecord {
		t.Errorf("%+v, %v; want %+v", r, err, someRecord)
	}
}

// TestDamaged: each flipped bit and each missing byte is noticed.
func TestDamaged(t *testing.T) {
	for name, good := range map[string]string{"meta": encodeMeta(someMeta), "record": encodeRecord(someRecord)} {
		decode := func(b []byte) error {
			_, err := decodeMeta(b)
			if name == "record" {
				_, err = decodeRecord(b)
			}
			return err
		}
		for n := range len(good) {
			if decode([]byte(good[:n])) == nil {
				t.Errorf("%s cut off after %d bytes is accepted", name, n)
			}
		}
		for bit := range 8 * len(good) {
			b := []byte(good)
			b[bit/8] ^= 1 << (bit % 8)
			if decode(b) == nil {
				t.Errorf("%s with bit %d flipped is accepted", name, bit)
			}
		}
		if decode([]byte(good+"\x00")) == nil {
			t.Errorf("%s with a byte too many is accepted", name)
		}
		next := []byte(good)
		next[3]++
		if err := decode(next); err == nil || !strings.Contains(err.Error(), "version 2") {
			t.Errorf("%s of another format version: error %v", name, err)
		}
	}
}

// TestNonsense: values with a good checksum must make sense too.
func TestNonsense(t *testing.T) {
	for name, change := range map[string]func(*lease.Record){
		"ends before it starts": func(r *lease.Record) { r.LastNode = 3 },
		"beyond the last node":  func(r *lease.Record) { r.LastNode = randflake.MaxNode + 1 },
		"no version":            func(r *lease.Record) { r.Version = 0 },
		"before the epoch":      func(r *lease.Record) { r.Start = randflake.Epoch - 1 },
		"beyond the end":        func(r *lease.Record) { r.HighWater = randflake.MaxTimestamp + 1 },
		"negative":              func(r *lease.Record) { r.HighWater = r.Start - 2 },
	} {
		r := someRecord
		change(&r)
		if _, err := decodeRecord([]byte(encodeRecord(r))); err == nil {
			t.Errorf("record: %s: accepted", name)
		}
	}
	for name, change := range map[string]func(*meta){
		"no incarnation": func(m *meta) { m.Incarnation = [16]byte{} },
		"no TTL":         func(m *meta) { m.Rules.MaxTTL = 0 },
		"negative skew":  func(m *meta) { m.Rules.MaxSkew = -time.Second },
		"negative floor": func(m *meta) { m.NotBefore = -1 },
		"floor too far":  func(m *meta) { m.NotBefore = randflake.MaxTimestamp + 1 },
	} {
		m := someMeta
		change(&m)
		if _, err := decodeMeta([]byte(encodeMeta(m))); err == nil {
			t.Errorf("meta: %s: accepted", name)
		}
	}
}

// FuzzDecode: what is accepted is the encoding of what comes out.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(encodeMeta(someMeta))[:valueSize-sumSize])
	f.Add([]byte(encodeRecord(someRecord))[:valueSize-sumSize])
	f.Fuzz(func(t *testing.T, body []byte) {
		value := seal(body)
		if m, err := decodeMeta([]byte(value)); err == nil && encodeMeta(m) != value {
			t.Errorf("%x is accepted as %+v", value, m)
		}
		if r, err := decodeRecord([]byte(value)); err == nil && encodeRecord(r) != value {
			t.Errorf("%x is accepted as %+v", value, r)
		}
	})
}
