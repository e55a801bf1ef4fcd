package randflake_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/randflake/randflake/compat/v2"
)

// TestVectors opens and makes the IDs of the format's test vectors. To save time, of those far into their second only
// some are made.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/randflake.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Secret    string                `json:"secret"`
			Timestamp randflake.UnixSeconds `json:"timestamp"`
			Node      uint32                `json:"node"`
			Sequence  uint32                `json:"sequence"`
			ID        int64                 `json:"id,string"`
			Text      string                `json:"text"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	made := 0
	for i, v := range file.Vectors {
		key, err := hex.DecodeString(v.Secret)
		if err != nil {
			t.Fatal(err)
		}
		g, err := randflake.New(randflake.Config{
			Lease:  randflake.Lease{NodeID: v.Node, Start: v.Timestamp, EndExclusive: v.Timestamp + 1},
			Secret: key,
			Clock:  func() (randflake.UnixSeconds, error) { return v.Timestamp, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		want := randflake.Parts{Timestamp: v.Timestamp, NodeID: v.Node, Sequence: v.Sequence}
		if parts, err := g.InspectString(v.Text); parts != want || g.Inspect(v.ID) != want || err != nil {
			t.Errorf("%s opens to %+v, %v, and %d to %+v, want %+v", v.Text, parts, err, v.ID, g.Inspect(v.ID), want)
		}
		if v.Sequence > 1000 && i%16 != 0 {
			continue
		}
		for range v.Sequence {
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := g.GenerateString(); text != v.Text || err != nil {
			t.Errorf("ID %d of second %d is %q, %v, want %q", v.Sequence, v.Timestamp, text, err, v.Text)
		}
		made++
	}
	if made < 30 {
		t.Errorf("only %d of %d vectors were made", made, len(file.Vectors))
	}
}

func TestConstants(t *testing.T) {
	if epoch != 1730000000 || maximum != 2803741823 || nodes != 131071 || last != 131071 {
		t.Errorf("got %d, %d, %d, %d", epoch, maximum, nodes, last)
	}
}

func TestText(t *testing.T) {
	for id, text := range map[int64]string{
		0: "0", 1: "1", 31: "v", 32: "10", math.MaxInt64: "7vvvvvvvvvvvv", math.MinInt64: "8000000000000", -1: "fvvvvvvvvvvvv",
	} {
		if got := randflake.EncodeString(id); got != text {
			t.Errorf("EncodeString(%d) = %q, want %q", id, got, text)
		}
		if got, err := randflake.DecodeString(text); got != id || err != nil {
			t.Errorf("DecodeString(%q) = %d, %v, want %d", text, got, err, id)
		}
	}
}

func TestInvalidText(t *testing.T) {
	g, _ := newGenerator(t, start, start+1)
	for _, text := range []string{
		"", "00", "01", "0v", "V", "3VGOE12CCB8GH", "3vgoe12ccb8gH", "=", "1=", "w", "-1", "+1", " 1", "1 ", "1\n", "1_0", "0x1",
		"é", "1\x00", "g000000000000", "vvvvvvvvvvvvv", "10000000000000", strings.Repeat("0", 13), strings.Repeat("1", 1000),
	} {
		if id, err := randflake.DecodeString(text); id != 0 || err != randflake.ErrInvalidID {
			t.Errorf("DecodeString(%q) = %d, %v, want ErrInvalidID", text, id, err)
		}
		if parts, err := g.InspectString(text); parts != (randflake.Parts{}) || err != randflake.ErrInvalidID {
			t.Errorf("InspectString(%q) = %+v, %v, want ErrInvalidID", text, parts, err)
		}
	}
}
