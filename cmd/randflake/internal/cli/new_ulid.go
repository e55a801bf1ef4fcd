package cli

import (
	"context"

	"github.com/randflake/randflake/ulid"
)

// mintULIDs mints n ULIDs in ascending order.
func (t *tool) mintULIDs(ctx context.Context, n int64, f Format[ulid.ID]) error {
	generator := ulid.New(ulid.Strict())
	fill := func(ctx context.Context, ids []ulid.ID) error {
		_, err := generator.FillWait(ctx, ids)
		return err
	}
	return newMinter(n, 1, f, fill).mint(ctx, t)
}

var ulidFormats = []Format[ulid.ID]{
	{Name: "text", Longest: ulidLength + 1, Append: appendULIDText},
	{Name: "json", Longest: ulidLength + 3, Append: appendULIDJSON},
	{Name: "binary", Longest: len(ulid.ID{}), Append: appendULIDBinary},
	{Name: "uuid", Longest: len("01234567-89ab-cdef-0123-456789abcdef\n"), Append: appendULIDAsUUID},
}

func appendULIDText(b []byte, id ulid.ID) []byte {
	b, _ = id.AppendText(b) // its error is always nil
	return append(b, '\n')
}

func appendULIDJSON(b []byte, id ulid.ID) []byte {
	b, _ = id.AppendText(append(b, '"'))
	return append(b, '"', '\n')
}

func appendULIDBinary(b []byte, id ulid.ID) []byte { return append(b, id[:]...) }

func appendULIDAsUUID(b []byte, id ulid.ID) []byte {
	return append(ulid.AppendUUID(b, id), '\n')
}
