package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/cmd/randflake/internal/dialect"
	"github.com/randflake/randflake/lease"
)

func (t *tool) sqlCommand() *cobra.Command {
	var name string
	var byDefault bool
	var h home
	node := int64(-1)
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "print SQL functions that open, make and mask IDs",
		Args:  noOperands,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case name == "":
				return wrong(cmd, "--dialect is missing: want %s", oneOf(dialect.Names))
			case !byDefault && (node >= 0 || h.store != ""):
				return wrong(cmd, "--node and --store are for --default")
			case !byDefault:
				return t.print("%s", dialect.Text(name))
			case node < 0:
				return wrong(cmd, "--node is missing: "+
					"want one that no space leases and no other database has, such as %d", randflake.MaxNode)
			}
			if h.store != "" {
				check := h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
					return spares(ctx, space, node)
				})
				if err := check(cmd, args); err != nil {
					return err
				}
			}
			return t.print("%s%s", dialect.Text(name), dialect.Default(name, uint32(node)))
		},
	}
	choiceFlag(cmd, &name, "dialect", "", "NAME", "the database", dialect.Names...)
	cmd.Flags().BoolVar(&byDefault, "default", false, "print randflake_next() too, for the default of columns")
	cmd.Flags().Var(value{"NODE", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n > randflake.MaxNode {
			return fmt.Errorf("want 0 to %d", randflake.MaxNode)
		}
		node = int64(n)
		return nil
	}}, "node", "the node of these IDs")
	storeFlag(cmd, &h)
	return cmd
}

// spares returns an error unless a space leaves a node to others, and never leases it.
func spares(ctx context.Context, space *lease.Space, node int64) error {
	info, err := space.Info(ctx)
	switch {
	case err != nil:
		return err
	case info.Nodes > randflake.MaxNode:
		return fmt.Errorf("%s leases all nodes, and can't give one up: "+
			"in a space that was made with --nodes %d, node %d is free",
			space, randflake.MaxNode, randflake.MaxNode)
	case node >= int64(info.FirstNode) && node <= int64(info.LastNode()):
		return fmt.Errorf("%s leases node %d: want one that is not of %d to %d", space, node, info.FirstNode, info.LastNode())
	}
	return nil
}
