package randflake_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/compat"
)

// A vector is one ID of the format's own test vectors.
type vector struct {
	Secret    string `json:"secret"`
	Timestamp int64  `json:"timestamp"`
	Node      int64  `json:"node"`
	Sequence  int64  `json:"sequence"`
	ID        int64  `json:"id,string"`
	Text      string `json:"text"`
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("../testdata/randflake.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors")
	}
	if !slices.ContainsFunc(file.Vectors, func(v vector) bool { return v.Secret == strings.Repeat("0", 32) }) {
		t.Error("no vector of the zero secret")
	}
	return file.Vectors
}

func (v vector) secret(t *testing.T) []byte {
	t.Helper()
	secret, err := hex.DecodeString(v.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestVectorsOpen(t *testing.T) {
	for _, v := range readVectors(t) {
		// The generator's own node and lease don't matter for opening.
		g, err := randflake.NewGenerator(0, epoch, epoch, v.secret(t))
		if err != nil {
			t.Fatal(err)
		}
		if text := randflake.EncodeString(v.ID); text != v.Text {
			t.Errorf("EncodeString(%d) = %q, want %q", v.ID, text, v.Text)
		}
		for _, text := range []string{v.Text, strings.ToUpper(v.Text)} {
			if id, err := randflake.DecodeString(text); id != v.ID || err != nil {
				t.Errorf("DecodeString(%q) = %d, %v, want %d", text, id, err, v.ID)
			}
		}
		timestamp, node, sequence, err := g.Inspect(v.ID)
		if timestamp != v.Timestamp || node != v.Node || sequence != v.Sequence || err != nil {
			t.Errorf("Inspect(%d) = %d, %d, %d, %v, want %+v", v.ID, timestamp, node, sequence, err, v)
		}
		timestamp, node, sequence, err = g.InspectString(v.Text)
		if timestamp != v.Timestamp || node != v.Node || sequence != v.Sequence || err != nil {
			t.Errorf("InspectString(%q) = %d, %d, %d, %v, want %+v", v.Text, timestamp, node, sequence, err, v)
		}
	}
}

// TestVectorsAreMade has a generator make each vector's ID: sequences count up from 0. To save time, of the vectors far
// into their second only some are made.
func TestVectorsAreMade(t *testing.T) {
	for i, v := range readVectors(t) {
		if v.Sequence > 1000 && i%16 != 0 {
			continue
		}
		g, err := randflake.NewGenerator(v.Node, v.Timestamp, v.Timestamp, v.secret(t))
		if err != nil {
			t.Fatal(err)
		}
		g.TimeSource = func() int64 { return v.Timestamp }
		ids, err := generate(g, int(v.Sequence)+1)
		if err != nil || ids[v.Sequence] != v.ID {
			t.Errorf("%d IDs, %v, want as the last one that of %+v", len(ids), err, v)
		}
	}
}

func TestConstants(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want int64
	}{
		{"RANDFLAKE_EPOCH_OFFSET", randflake.RANDFLAKE_EPOCH_OFFSET, root.Epoch},
		{"RANDFLAKE_TIMESTAMP_BITS", randflake.RANDFLAKE_TIMESTAMP_BITS, 30},
		{"RANDFLAKE_NODE_BITS", randflake.RANDFLAKE_NODE_BITS, 17},
		{"RANDFLAKE_SEQUENCE_BITS", randflake.RANDFLAKE_SEQUENCE_BITS, 17},
		{"RANDFLAKE_MAX_TIMESTAMP", randflake.RANDFLAKE_MAX_TIMESTAMP, 2803741823},
		{"RANDFLAKE_MAX_TIMESTAMP", randflake.RANDFLAKE_MAX_TIMESTAMP, root.MaxTimestamp},
		{"RANDFLAKE_MAX_NODE", randflake.RANDFLAKE_MAX_NODE, 131071},
		{"RANDFLAKE_MAX_SEQUENCE", randflake.RANDFLAKE_MAX_SEQUENCE, 131071},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		id   int64
		text string
	}{
		{0, "0"},
		{1, "1"},
		{31, "v"},
		{32, "10"},
		{math.MaxInt64, "7vvvvvvvvvvvv"},
		{math.MinInt64, "8000000000000"},
		{-1, "fvvvvvvvvvvvv"},
	} {
		if text := randflake.EncodeString(tt.id); text != tt.text {
			t.Errorf("EncodeString(%d) = %q, want %q", tt.id, text, tt.text)
		}
		if id, err := randflake.DecodeString(tt.text); id != tt.id || err != nil {
			t.Errorf("DecodeString(%q) = %d, %v, want %d", tt.text, id, err, tt.id)
		}
	}
	if id, err := randflake.DecodeString("000000000000v"); id != 31 || err != nil {
		t.Errorf("leading zeros: got %d, %v, want 31", id, err)
	}
}

func TestInvalidText(t *testing.T) {
	g := newGenerator(t, epoch, epoch)
	for _, text := range []string{
		"", "=", "3vgoe12ccb8gh=", "w", "W", "-1", "+1", " 1", "1 ", "1\n", "0x1", "é", "1\x00",
		"g000000000000", "vvvvvvvvvvvvv", "10000000000000", "00000000000000",
	} {
		if id, err := randflake.DecodeString(text); id != 0 || err != randflake.ErrInvalidID {
			t.Errorf("DecodeString(%q) = %d, %v, want ErrInvalidID", text, id, err)
		}
		if timestamp, node, sequence, err := g.InspectString(text); timestamp != 0 || node != 0 || sequence != 0 || err != randflake.ErrInvalidID {
			t.Errorf("InspectString(%q) = %d, %d, %d, %v, want ErrInvalidID", text, timestamp, node, sequence, err)
		}
	}
}
