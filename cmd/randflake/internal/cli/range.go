package cli

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (t *tool) rangeCommand() *cobra.Command {
	var c choiceOfKind
	format := "text"
	cmd := &cobra.Command{
		Use:   "range FROM TO",
		Short: "print the first and the last ID of a time",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.settle(); err != nil {
				return wrong(cmd, "%v", err)
			}
			from, err := parseTime(args[0])
			to, wrongTo := parseTime(args[1])
			if err := errors.Join(err, wrongTo); err != nil {
				return wrong(cmd, "%v", err)
			}
			switch {
			case !from.Before(to):
				return wrong(cmd, "FROM %s is not before TO %s", args[0], args[1])
			case format == "uuid" && c.kind != kindULID:
				return wrong(cmd, "--format uuid is for --kind ulid")
			case c.layout != nil:
				return t.printSnowflakeRange(c.layout, from, to)
			case c.kind == kindULID:
				return t.printULIDRange(from, to, format == "uuid")
			}
			return wrong(cmd, "want --layout, or --kind ulid: other IDs have no order")
		},
	}
	operands(cmd, "FROM", "TO")
	kindFlags(cmd, &c)
	choiceFlag(cmd, &format, "format", "f", "FORMAT", "text, or uuid for ULIDs in columns of these (default text)",
		"text", "uuid")
	return cmd
}

func (t *tool) printSnowflakeRange(layout *snowflake.Layout, from, to time.Time) error {
	first, last, err := layout.Range(from, to)
	if err != nil {
		return err
	}
	return t.print("%d\n%d\n", first, last)
}

func (t *tool) printULIDRange(from, to time.Time, asUUID bool) error {
	first, last, err := ulidRange(from, to)
	switch {
	case err != nil:
		return err
	case first.Compare(last) > 0:
		return fmt.Errorf("no ULID can lie from %s to before %s: want a whole millisecond among them",
			from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	case asUUID:
		return t.print("%s\n%s\n", ulid.FormatUUID(first), ulid.FormatUUID(last))
	}
	return t.print("%s\n%s\n", first, last)
}

// ulidRange returns the lowest and the highest ULID of the milliseconds that begin between two
// times. If there is no such millisecond, first is higher than last.
func ulidRange(from, to time.Time) (first, last ulid.ID, err error) {
	if epoch := time.UnixMilli(0); from.Before(epoch) && to.After(epoch) {
		from = epoch // as for layouts
	}
	first, err = ulid.Compose(ulid.Fields{Time: from.Add(time.Millisecond - 1)}) // rounded up
	if err != nil {
		return first, last, err
	}
	last, err = ulid.Compose(ulid.Fields{Time: to.Add(-1), Entropy: [10]byte(bytes.Repeat([]byte{0xff}, 10))})
	return first, last, err
}

func parseTime(text string) (at time.Time, err error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, fmt.Errorf("%q: want a time such as 2024-01-31 or 2024-01-31T12:00:00Z", text)
}
