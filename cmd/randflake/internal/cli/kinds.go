package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/snowflake"
)

// Kinds of IDs, which --kind names.
const (
	kindRandflake = "randflake"
	kindSnowflake = "snowflake"
	kindULID      = "ulid"
)

// What a UUID is to inspect, and a number that can be of several kinds.
const (
	kindUUID = "uuid"
	kindAny  = ""
)

var kindNames = []string{kindRandflake, kindSnowflake, kindULID}

// A choiceOfKind is the kind and layout of IDs that the user chose.
type choiceOfKind struct {
	kind   string            // or nothing
	layout *snowflake.Layout // of Snowflake IDs, or nil
}

// mayBeRandflake reports whether the user did not choose another kind of IDs.
func (c *choiceOfKind) mayBeRandflake() bool { return c.kind == "" || c.kind == kindRandflake }

// kindFlags defines --kind and --layout.
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

// settle completes the choice: layouts are those of Snowflake IDs.
func (c *choiceOfKind) settle() error {
	if c.layout == nil {
		return nil
	}
	if c.kind != "" && c.kind != kindSnowflake {
		return fmt.Errorf("--layout is for --kind %s: %s IDs have one layout", kindSnowflake, c.kind)
	}
	c.kind = kindSnowflake
	return nil
}
