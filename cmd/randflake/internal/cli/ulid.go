package cli

import (
	"context"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

// isULID reports whether text is written like a ULID, in digits of either case.
func isULID(text string) bool {
	_, err := readULID(text)
	return err == nil
}

// readULID opens a ULID.
func readULID(text string) (reading, error) {
	read := ulid.Parse
	if len(text) == 36 {
		read = ulid.ParseUUID // whose version 7 has the time in the same place
	}
	id, err := read(text)
	if err != nil {
		return reading{}, fmt.Errorf("%w: %.40q: want the 26 digits of a ULID, 0 to 9 and A to Z without I, L, O and U, of 128 bits, or a UUID of version 7", randflake.ErrInvalidID, text)
	}
	fields := ulid.Inspect(id)
	return reading{
		kind:     kindULID,
		id:       id.String(),
		time:     fields.Time,
		timeForm: milliseconds,
		fields:   []field{{"entropy", fmt.Sprintf("%x", fields.Entropy)}},
	}, nil
}

// mintULIDs mints n ULIDs in ascending order.
func (t *tool) mintULIDs(ctx context.Context, n int64, f format[ulid.ID]) error {
	generator, err := ulid.New(ulid.Strict())
	if err != nil {
		return err
	}
	return newMinter(n, 1, f, generator.FillWait).mint(ctx, t)
}
