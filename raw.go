package randflake

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// A Raw is what an ID encrypts: second, node and sequence in one integer, from high to low. Raws
// sort by second, so a table with Raws as its keys grows at its end. Within one second their order
// means nothing.
//
// A Raw reveals when and where it was made. Keep it in the database; show the ID. So package fmt
// prints a Raw as "[inner]", and encoding it as text or JSON is an error. For struct fields,
// package mask has a type that shows the ID.
//
// Encrypt and Decrypt of a [Cipher] convert a Raw to its ID and back, and can't fail:
//
//	id := cipher.Encrypt(raw)
//	raw = cipher.Decrypt(id)
type Raw uint64

// Fields returns what the raw value holds. Every raw value holds valid fields.
func (r Raw) Fields() Fields {
	return Fields{
		Time:     time.Unix(secondOf(uint64(r)), 0).UTC(),
		Node:     uint32(r>>nodeShift) & MaxNode,
		Sequence: uint32(r) & MaxSequence,
	}
}

const inner = "[inner]"

// Format prints "[inner]" for every verb that package fmt leaves to it.
func (Raw) Format(f fmt.State, _ rune) { f.Write([]byte(inner)) }

var errInner = errors.New("randflake: a raw value is not for the outside: show it as a mask.ID, or encrypt it to an ID")

// MarshalText returns an error, so package json refuses a Raw, too.
func (Raw) MarshalText() ([]byte, error) { return nil, errInner }

// MarshalBinary returns an error, for package gob.
func (Raw) MarshalBinary() ([]byte, error) { return nil, errInner }

// Value returns the raw value as a signed integer with the same 64 bits, for a BIGINT column.
//
// From 2041-10-31 22:21:52 UTC on the highest bit is set, and BIGINTs are negative: they sort
// before all older ones, and id > $1 misses them. ORDER BY id < 0, id keeps the order of time. In
// an unsigned column (MySQL's BIGINT UNSIGNED, written as uint64(r)) the order holds to the end of
// the format, in 2058.
func (r Raw) Value() (driver.Value, error) { return int64(r), nil }

// Scan reads an integer column, in the forms that ID.Scan describes. For a column that may be NULL
// use a pointer.
func (r *Raw) Scan(src any) error {
	value, err := scanInteger(src, "an integer column")
	if err != nil {
		return err
	}
	*r = Raw(value)
	return nil
}
