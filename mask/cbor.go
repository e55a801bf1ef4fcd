package mask

import (
	"fmt"

	"github.com/randflake/randflake"
)

// unmarshalCBOR passes the content of a string to the function of its type. By convention, null changes nothing.
func unmarshalCBOR(data []byte, unmarshalBinary, unmarshalText func([]byte) error) error {
	const null = "\xf6"
	if string(data) == null {
		return nil
	}
	major, content := cutCBOR(data)
	switch major {
	case byteString:
		return unmarshalBinary(content)
	case textString:
		return unmarshalText(content)
	}
	return fmt.Errorf("%w: CBOR of another kind: want a byte string or a text string", randflake.ErrInvalidID)
}

// Two major types of RFC 8949, section 3.1.
const (
	byteString = 2
	textString = 3
)

// cutCBOR returns the major type of an item, and the content of a string. Libraries pass a whole item,
// so a string goes to the end of data. Of a string of 256 bytes or more, or of unknown length, it
// returns 0: no masked form is such.
func cutCBOR(data []byte) (major byte, content []byte) {
	if len(data) < 2 {
		return 0, nil
	}
	major = data[0] >> 5
	length := data[0] & 31
	switch {
	case length < 24:
		return major, data[1:]
	case length == 24: // it is in the next byte
		return major, data[2:]
	}
	return 0, nil
}
