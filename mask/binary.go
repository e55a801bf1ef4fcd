package mask

import (
	"encoding/binary"
	"fmt"

	"github.com/randflake/randflake"
)

// MarshalBinary returns the 8 bytes of the masked form, in little-endian order, which is also what package gob writes. Its errors
// are those of MarshalText.
func (id ID[S, T]) MarshalBinary() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(masked)), nil
}

// UnmarshalBinary opens what MarshalBinary wrote. Its errors are those of Parse.
func (id *ID[S, T]) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: want 8 bytes, got %d", ErrInvalidID, len(data))
	}
	return id.open(randflake.Typed[S](binary.LittleEndian.Uint64(data)))
}
