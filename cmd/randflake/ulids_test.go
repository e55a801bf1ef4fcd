package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/ulid"
)

// decoders read back what new writes.
var decoders = map[string]func(out string) ([]ulid.ID, error){
	"text": byLine(ulid.Parse),
	"json": byLine(func(line string) (id ulid.ID, err error) { return id, json.Unmarshal([]byte(line), &id) }),
	"uuid": byLine(ulid.ParseUUID),
	"binary": func(out string) (ids []ulid.ID, err error) {
		for chunk := range slices.Chunk([]byte(out), len(ulid.ID{})) {
			ids = append(ids, ulid.ID(chunk))
		}
		return ids, nil
	},
}

func byLine(parse func(line string) (ulid.ID, error)) func(out string) ([]ulid.ID, error) {
	return func(out string) (ids []ulid.ID, err error) {
		for line := range strings.Lines(out) {
			id, err := parse(strings.TrimSuffix(line, "\n"))
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, nil
	}
}

// checkAscending returns an error unless each ID is larger than the one before, and made since before.
func checkAscending(ids []ulid.ID, before time.Time) error {
	for i, id := range ids {
		if made := ulid.Inspect(id).Time; made.Before(before) || made.After(time.Now()) {
			return errors.New(id.String() + " is of another time")
		}
		if i > 0 && ids[i-1].Compare(id) >= 0 {
			return errors.New(id.String() + " after " + ids[i-1].String())
		}
	}
	return nil
}

func TestNewULID(t *testing.T) {
	const n = 40_000 // several chunks
	for format, decode := range decoders {
		before := time.Now().Add(-time.Minute) // the time in an ID may be late
		ids, err := decode(succeed(t, "new", "--kind", "ulid", "-n", strconv.Itoa(n), "--format", format))
		if err != nil || len(ids) != n {
			t.Fatalf("%s: %d IDs, %v, want %d", format, len(ids), err, n)
		}
		if err := checkAscending(ids, before); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		swapped := slices.Clone(ids)
		slices.Reverse(swapped[n/2 : n/2+2])
		if checkAscending(swapped, before) == nil || checkAscending(ids, time.Now().Add(time.Hour)) == nil {
			t.Errorf("%s: planted faults are not found", format)
		}
	}
}

// TestInspectULID has inspect, which reads ULIDs by itself, agree with the library.
func TestInspectULID(t *testing.T) {
	for line := range strings.Lines(succeed(t, "new", "--kind", "ulid", "-n", "5")) {
		text := strings.TrimSpace(line)
		id, err := ulid.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Kind, ID, Entropy string
			Time              time.Time
		}
		if err := json.Unmarshal([]byte(succeed(t, "inspect", "--json", text)), &got); err != nil {
			t.Fatal(err)
		}
		entropy, err := strconv.ParseUint(got.Entropy[4:], 16, 64)
		if err != nil || got.Kind != "ulid" || got.ID != text || !got.Time.Equal(ulid.Inspect(id).Time) || ulidEntropy(id) != entropy {
			t.Errorf("inspect %s: %+v, %v", text, got, err)
		}
	}
}

// ulidEntropy returns the lowest 64 bits.
func ulidEntropy(id ulid.ID) (low uint64) {
	for _, b := range id[8:] {
		low = low<<8 | uint64(b)
	}
	return low
}
