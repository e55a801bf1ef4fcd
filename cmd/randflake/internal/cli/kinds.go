package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/snowflake"
)

// Kinds of IDs, as --kind names them.
const (
	kindRandflake = "randflake"
	kindSnowflake = "snowflake"
	kindULID      = "ulid"
)

// Kinds of pasted IDs that --kind does not name.
const (
	kindUUID = "uuid"
	kindAny  = "" // that of a number is not known, or the user chose none
)

// kindNames are the words of --kind.
var kindNames = []string{kindRandflake, kindSnowflake, kindULID}

// A choiceOfKind is the kind and layout of IDs that the user chose.
type choiceOfKind struct {
	kind   string            // or kindAny
	layout *snowflake.Layout // of Snowflake IDs, or nil
}

// mayBeRandflake reports whether the user did not choose another kind of IDs.
func (c *choiceOfKind) mayBeRandflake() bool { return c.kind == kindAny || c.kind == kindRandflake }

func kindFlags(cmd *cobra.Command, c *choiceOfKind) {
	choiceFlag(cmd, &c.kind, "kind", "k", "KIND", "randflake, snowflake or ulid", kindNames...)
	cmd.Flags().VarP(value{"LAYOUT", func(text string) (err error) {
		c.layout, err = snowflake.ParseLayout(text)
		return err
	}}, "layout", "l", "layout of Snowflake IDs: see randflake help kinds")
	var names []string
	for _, preset := range snowflake.Presets() {
		names = append(names, preset.Name())
	}
	complete(cmd, "layout", names)
}

// settle completes the choice: a layout is one of Snowflake IDs. It returns an error if the user chose another kind.
func (c *choiceOfKind) settle() error {
	if c.layout == nil {
		return nil
	}
	if c.kind != kindAny && c.kind != kindSnowflake {
		return fmt.Errorf("--layout is for --kind %s: %s IDs have one layout", kindSnowflake, c.kind)
	}
	c.kind = kindSnowflake
	return nil
}
