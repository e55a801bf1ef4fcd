package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/randflake/randflake/snowflake"
)

const (
	kindRandflake = "randflake"
	kindSnowflake = "snowflake"
	kindULID      = "ulid"
)

// A Kind is a kind of IDs that "randflake new" makes without a lease and without a secret.
type Kind struct {
	name string
	job  func(t *tool, n int64, format string) (job, error)
}

// A job mints what the command line asks for.
type job func(ctx context.Context) error

// NewKind returns a kind of IDs, which fill makes in ascending order for one goroutine at a time, and
// at least two formats, one of them "text". When ctx ends, fill may return why.
func NewKind[ID any](name string, fill func(ctx context.Context, ids []ID) error, formats ...Format[ID]) Kind {
	return Kind{name, func(t *tool, n int64, format string) (job, error) {
		f, err := formatOf(formats, format)
		return func(ctx context.Context) error {
			return newMinter(n, 1, f, fill).mint(ctx, t)
		}, err
	}}
}

// kindNames are all that IDs can be, whether or not this program makes them.
var kindNames = []string{kindRandflake, kindSnowflake, kindULID}

// kinds returns the names of what this program makes.
func (t *tool) kinds() []string {
	names := []string{kindRandflake, kindSnowflake}
	for _, kind := range t.Kinds {
		names = append(names, kind.name)
	}
	return names
}

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

// errOtherProgram says which program makes IDs that this one does not.
func (t *tool) errOtherProgram(kind string) error {
	return fmt.Errorf("kind %s: this program makes %s IDs alone: use %s", kind, strings.Join(t.kinds(), " and "), fullProgram)
}
