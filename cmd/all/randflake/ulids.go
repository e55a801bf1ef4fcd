package main

import (
	"context"

	"github.com/randflake/randflake/internal/cli"
	"github.com/randflake/randflake/ulid"
)

// ulids returns the kind of IDs that are ULIDs.
func ulids() cli.Kind {
	generator := ulid.New(ulid.Strict())
	fill := func(ctx context.Context, ids []ulid.ID) error {
		_, err := generator.FillWait(ctx, ids)
		return err
	}
	return cli.NewKind("ulid", fill, formats()...)
}

// textSize is the length of a ULID's text form.
const textSize = 26

func formats() []cli.Format[ulid.ID] {
	return []cli.Format[ulid.ID]{
		{Name: "text", Longest: textSize + 1, Append: appendText},
		{Name: "json", Longest: textSize + 3, Append: appendJSON},
		{Name: "binary", Longest: len(ulid.ID{}), Append: appendBinary},
		{Name: "uuid", Longest: len("01234567-89ab-cdef-0123-456789abcdef\n"), Append: appendUUID},
	}
}

func appendText(b []byte, id ulid.ID) []byte {
	b, _ = id.AppendText(b) // its error is always nil
	return append(b, '\n')
}

func appendJSON(b []byte, id ulid.ID) []byte {
	b, _ = id.AppendText(append(b, '"'))
	return append(b, '"', '\n')
}

func appendBinary(b []byte, id ulid.ID) []byte { return append(b, id[:]...) }

func appendUUID(b []byte, id ulid.ID) []byte {
	return append(ulid.AppendUUID(b, id), '\n')
}
