package mask

import "github.com/randflake/randflake"

// AppendBinary appends the 8 bytes of the masked form to b, in little-endian order, like those of a randflake.ID. Its
// errors are those of AppendText.
func (id ID[S, T]) AppendBinary(b []byte) ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return b, err
	}
	return randflake.ID(masked).AppendBinary(b)
}

// MarshalBinary returns the 8 bytes of the masked form, which is also what package gob writes.
func (id ID[S, T]) MarshalBinary() ([]byte, error) { return id.AppendBinary(nil) }

// UnmarshalBinary opens what MarshalBinary wrote. Its errors are those of Parse.
func (id *ID[S, T]) UnmarshalBinary(data []byte) error {
	var masked randflake.ID
	if err := masked.UnmarshalBinary(data); err != nil {
		return err
	}
	return id.open(randflake.Typed[S](masked))
}
