package mask

import (
	"database/sql/driver"

	"github.com/randflake/randflake"
)

// Value returns the inner value for the database: a signed integer with the same 64 bits, for a BIGINT column. It needs
// no cipher. Values of a randflake.Raw made from 2041 on sort differently in the database: see [randflake.Raw.Value].
// For a negative value of a signed type the error wraps ErrInvalidID.
func (id ID[S, T]) Value() (driver.Value, error) {
	inner := id.Inner()
	if inner < 0 {
		return nil, errNegative
	}
	return int64(inner), nil
}

// Scan reads the inner value from an integer column, in the forms that [randflake.Raw.Scan] accepts. It needs no
// cipher. For anything else, and for a negative value of a signed type, the error wraps ErrInvalidID. For a column that
// may be NULL use a pointer.
func (id *ID[S, T]) Scan(src any) error {
	var value randflake.Raw
	if err := value.Scan(src); err != nil {
		return err
	}
	if T(value) < 0 {
		return errNegative
	}
	*id = Of[S](T(value))
	return nil
}
