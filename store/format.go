package store

import (
	"context"
	"fmt"
)

// newer returns the error about something in a format that this program does not know.
func newer(format int) error {
	return fmt.Errorf("%w: %d, and this program knows no later one than %d: use a newer version of randflake; randflake version prints the format that one knows", ErrFormat, format, Format)
}

// Upgrade raises the format of the space to the constant Format, and returns what it was before. From then on programs that
// don't know that format fail with ErrFormat at the next call: their leases can't be renewed, and end. A format is never
// lowered.
//
// A program writes in the format of the space, whichever that is. So programs of two versions can share a space, and a
// newer version can be taken back, until Upgrade is called.
func (s *Space) Upgrade(ctx context.Context) (before int, err error) {
	for range tries {
		v, err := s.Read(ctx, nil, Page{})
		if err != nil || v.Meta.Format == Format {
			return Format, err
		}
		m := v.Meta.next()
		m.Format = Format
		if done, err := s.putMeta(ctx, v.value, m); err != nil || done {
			return v.Meta.Format, err
		}
	}
	return 0, s.contended()
}
