package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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

// moveSpace moves a space from one named store to another, and prints what is left to do. It has no
// deadline of its own, as there may be many counters to move.
func (t *tool) moveSpace(ctx context.Context, from, to string) error {
	newAt, name, err := url.Parse(to)
	config := lease.Config{Name: name}
	if err := cmp.Or(err, config.Check()); err != nil { // before its directory is made
		return fmt.Errorf("NEW: %w", err)
	}
	h := home{store: from}
	old, oldInfo, err := openOld(ctx, &h)
	if err != nil {
		return fmt.Errorf("OLD: %w", err)
	}
	defer old.Close()
	engine, err := openNew(ctx, to, newAt)
	if err != nil {
		return fmt.Errorf("NEW: %w", err)
	}
	defer engine.Close()

	began := time.Now()
	sameKind := trustWord(newAt) == trustWord(h.at)
	config.Trust = oldInfo.Trust && sameKind
	space, err := lease.Move(ctx, old, engine, config)
	if err != nil {
		return moveError(err)
	}
	info, err := readInfo(ctx, space)
	if err != nil {
		return err
	}
	left := leftBehind(info, oldInfo.Retired, began)
	steps := stepsAfterMove(info, left, h)
	if oldInfo.Trust && !info.Trust {
		steps += fmt.Sprintf("The trust of the old space was in another store: %s has none.\n", space)
	}
	return t.print("%s took the place of %s\n%s", space, old, steps)
}

func openOld(ctx context.Context, h *home) (*lease.Space, lease.Info, error) {
	if err := h.locateNamed(); err != nil { // not locate, which would also look for a secret
		return nil, lease.Info{}, err
	}
	old, err := h.openSpace(ctx)
	if err != nil {
		return nil, lease.Info{}, err
	}
	info, err := readInfo(ctx, old)
	if err != nil {
		old.Close()
	}
	return old, info, err
}

// openNew opens the new store. It makes its directory, if it has one.
func openNew(ctx context.Context, name string, at url.Location) (lease.Engine, error) {
	if err := makeDir(at); err != nil {
		return nil, err
	}
	engine, _, err := url.Engine(ctx, name)
	return engine, err
}

// moveError says what helps against a move that failed, unless the same command would fail again.
func moveError(err error) error {
	for _, final := range []error{lease.ErrRetired, lease.ErrExists, lease.ErrClock, lease.ErrInvalid} {
		if errors.Is(err, final) {
			return err
		}
	}
	return fmt.Errorf("%w; the same command goes on where this one stopped", err)
}

// readInfo reads a space, even if leases would be refused there now by its clock or store: these commands
// need none, or set that right.
func readInfo(ctx context.Context, space *lease.Space) (lease.Info, error) {
	info, err := space.Info(ctx)
	unfit := errors.Is(err, lease.ErrClock) || errors.Is(err, lease.ErrUnsafe)
	if unfit && info.Nodes > 0 {
		return info, nil
	}
	return info, err
}

// stepsAfterMove says what to do after a move. info is of the new space, left what leftBehind says,
// and old the place of the old space, which may have the secret in its directory.
func stepsAfterMove(info lease.Info, left string, old home) string {
	steps := fmt.Sprintf("1. Start all programs with the new store: %s. %s.\n", beginning(info), left)
	steps += "2. Leave the old space where it is: a program that slept through the move finds there that it is retired. " +
		"Never bring back an older copy of it, which would grant the same leases again.\n"
	secret := secretIn(old.at.Dir, old.space)
	if _, err := os.Stat(secret); old.at.Dir != "" && err == nil {
		steps += fmt.Sprintf("3. Keep %s: programs need the secret.\n", secret)
	}
	return steps
}

// usualOutage is the outage for which a program leases ahead: the default of lease.WithOutage.
const usualOutage = 3 * time.Minute

// leftBehind says until when programs have leases of the old space, which the move has retired now or an earlier
// command before. It takes programs that have run for a window and a half, and that don't choose another outage.
func leftBehind(info lease.Info, retiredBefore bool, now time.Time) string {
	if retiredBefore {
		return "The old space was retired before, so that the leases of programs may have ended"
	}
	until := now.Add(min(usualOutage, time.Duration(info.Ahead-1)*info.Window))
	left := fmt.Sprintf("Those that have run for %v have leases until %s", info.Window*3/2, clockTime(until))
	if cmp.Or(info.ReserveOpens, info.Floor).After(until) {
		left += ", and make no IDs in between"
	}
	return left
}
