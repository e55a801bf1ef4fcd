package cli

import (
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A reading is what an ID says when it is read as one of some kind.
type reading struct {
	kind     string
	layout   string    // of a Snowflake ID
	prefix   string    // of a typed ID
	typeID   string    // the prefix of a TypeID, without its underscore
	id       string    // in the text form of the kind
	decimal  string    // or "" for an ID that is no number
	time     time.Time // zero for an ID without one
	fields   []field
	note     field // on the reading as a whole, or zero
	evidence evidence
}

// Evidence is what guesses and analyses make of the fields of an ID.
type evidence struct {
	used     float64 // the share of the fields' bits that their numbers need
	worker   uint64  // the number of the generator
	sequence uint64  // that of the ID among those of one worker and time
}

// A field is a part of an ID, which is a number or text.
type field struct {
	name   string
	value  string
	isText bool // JSON has quotes around the value
}

func numberField[T uint32 | uint64](name string, value T) field {
	return field{name: name, value: strconv.FormatUint(uint64(value), 10)}
}

func textField(name, value string) field { return field{name: name, value: value, isText: true} }

func readRandflake(cipher *randflake.Cipher, id randflake.ID) reading {
	fields := cipher.Inspect(id)
	used := bits.Len32(fields.Node) + bits.Len32(fields.Sequence)
	all := bits.Len32(randflake.MaxNode) + bits.Len32(randflake.MaxSequence)
	return reading{
		kind:    kindRandflake,
		id:      id.String(),
		decimal: strconv.FormatInt(int64(id), 10),
		time:    fields.Time,
		fields:  []field{numberField("node", fields.Node), numberField("sequence", fields.Sequence)},
		evidence: evidence{
			used:     float64(used) / float64(all),
			worker:   uint64(fields.Node),
			sequence: uint64(fields.Sequence),
		},
	}
}

// readSnowflake reads a Snowflake ID. An error says that the ID is longer than the layout: then it has
// neither time nor fields.
func readSnowflake(layout *snowflake.Layout, id snowflake.ID) (reading, error) {
	opened, err := layout.Inspect(id)
	text := id.String()
	r := reading{
		kind:     kindSnowflake,
		layout:   layout.Name(),
		id:       text,
		decimal:  text,
		time:     opened.Time,
		evidence: evidence{sequence: opened.Sequence},
	}
	if err != nil {
		return r, err
	}
	parts := layout.Parts()[1:] // the time is the first
	r.fields = make([]field, 0, len(parts))
	all, used := 0, 0
	for _, p := range parts {
		value, isStatic := opened.Static[p.Name]
		switch {
		case isStatic:
			r.evidence.worker = r.evidence.worker<<p.Bits | value
		case p.Name == "sequence":
			value = opened.Sequence
		case p.Name == "rollback":
			value = opened.Rollback
		default:
			panic("cli: reading.go does not know the part " + p.Name)
		}
		r.fields = append(r.fields, numberField(p.Name, value))
		all += p.Bits
		used += bits.Len64(value)
	}
	r.evidence.used = float64(used) / float64(all)
	return r, nil
}

func readULID(id ulid.ID) reading {
	fields := ulid.Inspect(id)
	return reading{
		kind:   kindULID,
		id:     id.String(),
		time:   fields.Time,
		fields: []field{textField("entropy", hex.EncodeToString(fields.Entropy[:]))},
	}
}

// clockSkew is how far ahead the clock of an ID's maker may have been.
const clockSkew = time.Minute

// isFuture reports whether the time of r is so far in the future that no ID can have it yet.
func (r reading) isFuture(now time.Time) bool { return r.time.After(now.Add(clockSkew)) }

// suspicions are the likely causes of a time in the future.
var suspicions = map[string]string{
	kindRandflake: "it was made with another secret, or forged",
	kindSnowflake: "it was made in another layout, or forged",
	kindULID:      "it was made by a clock that was ahead, or forged",
	kindUUID:      "it was made by a clock that was ahead, or forged",
}

// checkTime returns an error if r has a time in the future.
func (r reading) checkTime(now time.Time) error {
	if !r.isFuture(now) {
		return nil
	}
	return finding(fmt.Sprintf("%s%s contains a time in the future, %s: %s",
		r.prefix, r.id, r.appendTime(nil), suspicions[r.kind]))
}
