package mask

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

// What databases call on IDs and UUIDs. They get the inner value.

// Value returns the inner value for the database: a signed integer with the same 64 bits, for a
// BIGINT column. It needs no cipher. Values of a randflake.Raw made from 2041 on sort differently
// in the database: see [randflake.Raw.Value]. The error is always nil, as GORM takes a value with
// an error for NULL.
func (id ID[K, T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads the inner value from an integer column, in the forms that [randflake.Raw.Scan]
// accepts. It needs no cipher. For anything else the error wraps randflake.ErrInvalidID. For a column that
// may be NULL use a pointer.
func (id *ID[K, T]) Scan(src any) error {
	var value randflake.Raw
	if err := value.Scan(src); err != nil {
		return err
	}
	*id = ID[K, T](value)
	return nil
}

// Value returns the text of the inner UUID for the database. For a BINARY(16) pass the 16 bytes of
// what Inner returns, as by inner[:], since most types of UUIDs are texts to a database. The error is
// always nil, as GORM takes a value with an error for NULL.
//
// GORM and bun don't know the type of the column: say it in a tag, as `gorm:"type:uuid"` or
// `bun:"type:uuid"`.
func (id UUID[K, T]) Value() (driver.Value, error) { return id.innerText(), nil }

// innerText returns the text of the inner UUID.
func (id UUID[K, T]) innerText() string { return ulid.FormatUUID(ulid.ID(id)) }

// Scan reads the inner UUID, of any version, from its text or its 16 bytes. For anything else the
// error wraps randflake.ErrInvalidID. For a column that may be NULL use a pointer.
func (id *UUID[K, T]) Scan(src any) error {
	if src == nil {
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer", randflake.ErrInvalidID)
	}
	inner, err := scanUUID(src)
	if err != nil {
		return fmt.Errorf("%w: can't scan a %T: want a UUID, as text or 16 bytes", randflake.ErrInvalidID, src)
	}
	*id = UUID[K, T](inner)
	return nil
}

// scanUUID is ulid.ID.Scan without the 26 characters of ULIDs.
func scanUUID(src any) (id ulid.ID, err error) {
	switch v := src.(type) {
	case []byte:
		if len(v) == len(id) {
			return ulid.ID(v), nil
		}
		return ulid.ParseUUID(strings.TrimRight(string(v), " ")) // blanks of a CHAR
	case string:
		return ulid.ParseUUID(strings.TrimRight(v, " "))
	}
	return id, randflake.ErrInvalidID
}

// ToDB returns the text that Value returns, for xorm, which would store the JSON form. It is a method
// of pointers, so that arguments of xorm's raw SQL go by Value: pgx makes a UUID of the first 16
// bytes of what ToDB returns.
func (id *UUID[K, T]) ToDB() ([]byte, error) { return []byte(id.innerText()), nil }

// FromDB is Scan, for xorm.
func (id *UUID[K, T]) FromDB(data []byte) error { return id.Scan(data) }
