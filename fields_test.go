package randflake

import (
	"errors"
	"testing"
	"time"
)

func TestSealRefuses(t *testing.T) {
	c := NewCipher(Secret{})
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for name, f := range map[string]Fields{
		"zero time":        {},
		"before the epoch": {Time: at(Epoch - 1)},
		"after the end":    {Time: at(MaxTimestamp + 1)},
		"node":             {Time: at(Epoch), Node: MaxNode + 1},
		"sequence":         {Time: at(Epoch), Sequence: MaxSequence + 1},
	} {
		if id, err := c.Seal(f); id != 0 || !errors.Is(err, ErrInvalidID) || errors.Is(err, ErrEndOfLife) != (name == "after the end") {
			t.Errorf("%s: Seal = %v, %v", name, id, err)
		}
	}
}

func TestSealRoundsDown(t *testing.T) {
	c := NewCipher(Secret{})
	want := Fields{Time: time.Unix(Epoch+5, 0).UTC(), Node: 1, Sequence: 2}
	id, err := c.Seal(Fields{Time: want.Time.Add(999 * time.Millisecond).In(time.FixedZone("", 3600)), Node: 1, Sequence: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Inspect(id); got != want || err != nil {
		t.Errorf("Inspect = %v, %v, want %v", got, err, want)
	}
}

func TestLayoutConstants(t *testing.T) {
	if end := time.Unix(MaxTimestamp, 0).UTC().Format(time.DateTime); end != "2058-11-05 17:10:23" {
		t.Errorf("the format ends at %s", end)
	}
	if TimestampBits+NodeBits+SequenceBits != 64 || MaxNode != 131071 || MaxSequence != 131071 {
		t.Error("the layout is not 30 + 17 + 17 bits")
	}
}
