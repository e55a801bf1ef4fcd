package mask

import (
	"database/sql/driver"

	"github.com/randflake/randflake"
)

// Value gives the inner value away, to the database: as a signed integer with the same 64 bits, for a BIGINT column. It
// needs no cipher. What that means for the order of a randflake.Raw from 2041 on, see [randflake.Raw.Value]. A negative
// value of a signed type is an error that wraps ErrInvalidID.
func (id ID[S, T]) Value() (driver.Value, error) {
	inner := id.Inner()
	if inner < 0 {
		return nil, errNegative
	}
	return int64(inner), nil
}

// Scan reads the inner value from an integer column, in whatever form the driver gives it, as [randflake.Raw.Scan]
// does. It needs no cipher. Anything else is an error that wraps ErrInvalidID, and so is a negative value for a signed
// type. For a column that may be NULL use a pointer.
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
