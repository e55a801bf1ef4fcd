package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MarshalJSON returns the masked form as a JSON string, or fails as AppendText does.
func (id ID[S, T]) MarshalJSON() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return masked.MarshalJSON()
}

// UnmarshalJSON is Parse for a JSON string. A number is an error that wraps ErrInvalidID: masked IDs are strings, and
// inner ones don't come from outside. As is the custom, null changes nothing.
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
