package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
)

func (t *tool) storeRetireCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "retire [STORE]",
		Short: "end a space for ever",
		RunE: h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
			if err := space.Retire(ctx); err != nil {
				return err
			}
			l := space.Limits()
			last := time.Now().Add(2*l.MaxSkew + time.Duration(l.Ahead+1)*l.Window)
			return t.print("%s is retired: the last lease that it has granted ends before %s\n",
				space, clockTime(last))
		}),
	}
	storeOperand(cmd, &h)
	return cmd
}
