package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) storeMoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "move OLD NEW",
		Short: "move a space to another store, or to another name",
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.moveSpace(cmd.Context(), args[0], args[1])
		},
	}
	operands(cmd, "OLD", "NEW")
	return cmd
}

// moveSpace has no deadline but that of its steps, as there may be many counters.
func (t *tool) moveSpace(ctx context.Context, from, to string) error {
	newAt, name, err := url.Parse(to)
	if err != nil {
		return fmt.Errorf("NEW: %w", err)
	}
	oldAt, _, err := url.Parse(from)
	if err != nil {
		return fmt.Errorf("OLD: %w", err)
	}
	h := home{store: from, at: oldAt}
	old, err := h.openSpace(ctx)
	if err != nil {
		return fmt.Errorf("OLD: %w", err)
	}
	defer old.Close()
	before, err := old.Info(ctx)
	if err != nil {
		return fmt.Errorf("OLD: %w", err)
	}
	if err := makeDir(newAt); err != nil {
		return fmt.Errorf("NEW: %w", err)
	}
	engine, _, err := url.Engine(ctx, to)
	if err != nil {
		return fmt.Errorf("NEW: %w", err)
	}
	defer engine.Close()

	began := time.Now()
	space, err := lease.Move(ctx, old, engine, lease.Config{Name: name})
	if err != nil {
		return moveError(err)
	}
	info, err := space.Info(ctx)
	if err != nil {
		return err
	}
	left := leftBehind(info, before.Retired, began)
	return t.print("%s took the place of %s\n%s", space, old, stepsAfterMove(info, left, oldAt))
}

// stepsAfterMove says what to do once a space was moved, from a store that may have the secret in its directory.
func stepsAfterMove(info lease.Info, left string, old url.Location) string {
	steps := fmt.Sprintf("1. Start all programs with the new store: %s. %s.\n", beginning(info), left)
	steps += "2. Once no program runs with the old store, delete the old space, or take away the programs' right to it: an older copy of it would grant the same leases again.\n"
	secret := filepath.Join(old.Dir, "secret")
	if _, err := os.Stat(secret); old.Dir != "" && err == nil {
		steps += fmt.Sprintf("3. Keep %s: programs need the secret.\n", secret)
	}
	return steps
}

// leftBehind says until when programs have leases of a space that was retired just now, if they have run for a window and a half and did
// not choose another time.
func leftBehind(info lease.Info, before bool, now time.Time) string {
	if before {
		return "The old space was retired before, so that the leases of programs may have ended"
	}
	until := now.Add(min(3*time.Minute, time.Duration(info.Ahead-1)*info.Window))
	left := fmt.Sprintf("Those that have run for %v have leases until %s", info.Window*3/2, clockTime(until))
	if info.Opens.IsZero() {
		left += ", and make no IDs in between, as the space has no reserve"
	}
	return left
}

// moveError adds to an error what to do.
func moveError(err error) error {
	switch {
	case errors.Is(err, lease.ErrRetired):
		return fmt.Errorf("%w: use that space: if it is gone, make another one with randflake store init and the limits that the old one had, and set its counters", err)
	case errors.Is(err, lease.ErrExists), errors.Is(err, lease.ErrClock), errors.Is(err, lease.ErrInvalid):
		return err
	}
	return fmt.Errorf("%w: then run the same command again", err)
}

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
			return t.print("%s is retired: the last lease that it has granted ends before %s\n", space, clockTime(last))
		}),
	}
	storeOperand(cmd, &h)
	return cmd
}
