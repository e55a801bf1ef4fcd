package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MarshalJSON returns the masked form as a JSON string. Its errors are those of AppendText.
func (id ID[S, T]) MarshalJSON() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return masked.MarshalJSON()
}

// UnmarshalJSON is Parse for a JSON string. For a number it returns an error that wraps ErrInvalidID: masked IDs are
// strings, and inner IDs don't come from outside. By convention, null changes nothing.
func (id *ID[S, T]) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%w: want a JSON string of base32hex digits", ErrInvalidID)
	}
	return id.parse(text)
}
