package main

import (
	"context"
	"errors"
	"time"

	oklog "github.com/oklog/ulid/v2"

	"github.com/randflake/randflake/internal/cli"
	"github.com/randflake/randflake/ulid"
)

// ulids returns the kind of IDs that are ULIDs.
func ulids() cli.Kind {
	return cli.NewKind("ulid", ascending(ulid.New(ulid.Strict())), formats()...)
}

func formats() []cli.Format[ulid.ID] {
	return []cli.Format[ulid.ID]{
		{Name: "text", Longest: oklog.EncodedSize + 1, Append: appendText},
		{Name: "json", Longest: oklog.EncodedSize + 3, Append: appendJSON},
		{Name: "binary", Longest: len(ulid.ID{}), Append: appendBinary},
		{Name: "uuid", Longest: len("01234567-89ab-cdef-0123-456789abcdef\n"), Append: appendUUID},
	}
}

// A filler makes ULIDs, as a generator does.
type filler interface {
	Fill(ids []ulid.ID) (n int, err error)
}

// ascending returns a function that fills a slice, and waits for the next millisecond where this one has
// no room left.
func ascending(generator filler) func(context.Context, []ulid.ID) error {
	return func(ctx context.Context, ids []ulid.ID) error {
		for {
			n, err := generator.Fill(ids)
			if !errors.Is(err, ulid.ErrMonotonicOverflow) {
				return err
			}
			ids = ids[n:]
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// appendChars appends the 26 characters of a ULID.
func appendChars(b []byte, id ulid.ID) []byte {
	var text [oklog.EncodedSize]byte
	id.MarshalTextTo(text[:]) // fails for a shorter buffer alone
	return append(b, text[:]...)
}

func appendText(b []byte, id ulid.ID) []byte {
	return append(appendChars(b, id), '\n')
}

func appendJSON(b []byte, id ulid.ID) []byte {
	return append(appendChars(append(b, '"'), id), '"', '\n')
}

func appendBinary(b []byte, id ulid.ID) []byte { return append(b, id[:]...) }

func appendUUID(b []byte, id ulid.ID) []byte {
	return append(ulid.AppendUUID(b, id), '\n')
}
