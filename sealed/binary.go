package sealed

import "github.com/randflake/randflake"

// AppendBinary appends the 8 bytes of the sealed form to b, in little-endian order, as those of a
// randflake.ID. It fails as AppendText does.
func (id ID[S, T]) AppendBinary(b []byte) ([]byte, error) {
	sealed, err := id.seal()
	if err != nil {
		return b, err
	}
	return sealed.AppendBinary(b)
}

// MarshalBinary returns the 8 bytes of the sealed form, which is also what package gob writes.
func (id ID[S, T]) MarshalBinary() ([]byte, error) {
	sealed, err := id.seal()
	if err != nil {
		return nil, err
	}
	return sealed.MarshalBinary()
}

// UnmarshalBinary opens what MarshalBinary wrote. It refuses what Parse refuses.
func (id *ID[S, T]) UnmarshalBinary(data []byte) error {
	var sealed randflake.ID
	if err := sealed.UnmarshalBinary(data); err != nil {
		return err
	}
	return id.open(sealed)
}
