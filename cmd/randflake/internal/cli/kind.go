package cli

import (
	"context"
	"fmt"

	"github.com/randflake/randflake/snowflake"
)

const (
	kindRandflake = "randflake"
	kindSnowflake = "snowflake"
	kindULID      = "ulid"
)

// A job mints what the command line asks for.
type job func(ctx context.Context) error

var kindNames = []string{kindRandflake, kindSnowflake, kindULID}

// A choiceOfKind is what the user says that IDs are.
type choiceOfKind struct {
	kind   string            // or nothing
	layout *snowflake.Layout // of Snowflake IDs, or nil
}

// kindFlags defines -kind and -layout.
func (fs *flagSet) kindFlags(c *choiceOfKind) {
	fs.choice(&c.kind, "kind", kindNames...)
	c.kind = ""
	fs.Func("layout", "", func(text string) (err error) {
		c.layout, err = layoutOf(text)
		return err
	})
}

// settle completes the choice: layouts are those of Snowflake IDs.
func (c *choiceOfKind) settle() error {
	if c.layout == nil {
		return nil
	}
	if c.kind != "" && c.kind != kindSnowflake {
		return fmt.Errorf("-layout is for -kind %s: %s IDs have one layout", kindSnowflake, c.kind)
	}
	c.kind = kindSnowflake
	return nil
}
