package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) storeInitCommand() *cobra.Command {
	var h home
	var config lease.Config
	var ifMissing bool
	cmd := &cobra.Command{
		Use:   "init [STORE]",
		Short: "make a space",
		Long: `Make a space for one secret, or without one for sortable IDs: with --nodes and no
--secret-file. Nothing of a space can be changed later.

Another space may have granted the same IDs, so leases begin some minutes later,
when its own have ended, and counters wait until they are set. For that the new
space needs the limits that it had: --nodes, --window, --ahead, --max-skew and
--reserve. If it is still there, take "randflake store move" instead. With
--new, which says that there was none, leases begin at once, and the file of the
secret is made if it is missing.`,
		Example: `  randflake store init --new leases
  randflake store init --if-missing postgres://app@db/shop
  randflake store init --new --nodes 1024 'redis://cache?space=snowflake'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.initSpace(cmd, &h, config, ifMissing) },
	}
	storeOperand(cmd, &h)
	secretFlag(cmd, &h.secret)
	f := cmd.Flags()
	f.BoolVar(&config.New, "new", false, "no IDs were made before")
	f.BoolVar(&ifMissing, "if-missing", false, "do not fail if the space exists")
	f.Uint32Var(&config.Limits.Nodes, "nodes", 0, "as many as the layout has worker numbers (default 131072)")
	f.DurationVar(&config.Limits.Window, "window", 0, "how long leases last (default 1m0s)")
	f.Int64Var(&config.Limits.Ahead, "ahead", 0, "how many windows may be leased ahead (default 5)")
	f.DurationVar(&config.Limits.MaxSkew, "max-skew", 0, "how far two clocks may differ (default 1m0s)")
	f.Uint32Var(&config.Limits.Reserve, "reserve", 0, "nodes that are kept 64 times for the minutes after a loss\nof data, 0 for none (default 1024 from 65537 nodes on)")
	return cmd
}

func (t *tool) initSpace(cmd *cobra.Command, h *home, config lease.Config, ifMissing bool) error {
	if config.Limits.Nodes > 0 && h.secret.file == "" {
		h.nodes = config.Limits.Nodes // without a secret
	}
	if err := h.locate(); err != nil {
		return err
	}
	for _, name := range []string{"nodes", "window", "ahead", "max-skew"} {
		if f := cmd.Flags().Lookup(name); f.Changed && strings.Trim(f.Value.String(), "0s") == "" {
			return wrong(cmd, "--%s %s: want more than 0", name, f.Value)
		}
	}
	if h.implied && config.Limits.Nodes > 0 {
		return wrong(cmd, "STORE is missing: in the state directory randflake new makes the spaces of sortable IDs by itself")
	}
	config.NoReserve = cmd.Flags().Changed("reserve") && config.Limits.Reserve == 0
	if err := makeDir(h.at); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
	defer cancel()
	existing, err := url.Open(ctx, h.name(), lease.Config{})
	switch {
	case err == nil:
		if secret, err := h.readSecret(); err == nil {
			config.Check = secret.CheckValue()
		}
		return t.printExisting(existing, config.Check, ifMissing)
	case !errors.Is(err, lease.ErrNoSpace):
		return err
	}

	made, err := h.secretOfNewSpace(&config)
	if err != nil {
		return err
	}
	space, err := url.Create(ctx, h.name(), config)
	if errors.Is(err, lease.ErrExists) && ifMissing { // another process was faster
		if space, err = url.Open(ctx, h.name(), lease.Config{}); err == nil {
			return t.printExisting(space, config.Check, ifMissing)
		}
	}
	if err != nil && made != "" {
		err = fmt.Errorf("%w: the new secret is in %s", err, h.secret.file)
	}
	if errors.Is(err, lease.ErrInvalid) {
		return wrong(cmd, "%v", err)
	}
	if err != nil {
		return err
	}
	defer space.Close()
	info, err := space.Info(ctx)
	if err != nil {
		return err
	}
	return t.print("%smade %s: %s\n", made, space, beginningOfNew(info))
}

// beginningOfNew says from when on leases are granted in a space that was just made.
func beginningOfNew(info lease.Info) string {
	begin := "leases begin at once"
	if info.Low.After(time.Now()) {
		begin = fmt.Sprintf("leases begin at %s, when those of an earlier space have ended: if it had other limits than --nodes %d --window %v --ahead %d --max-skew %v --reserve %d, make this one with those, under another name",
			clockTime(info.Low), info.Nodes, info.Window, info.Ahead, info.MaxSkew, info.Reserve)
	}
	if info.Check == "" && info.Nodes == randflake.MaxNode+1 {
		begin += "; for IDs of any secret: make another one with --secret-file to have all other secrets refused"
	}
	return begin
}

// makeDir makes the directory of a store, if it is one.
func makeDir(at url.Location) error {
	if at.Dir == "" {
		return nil
	}
	return os.MkdirAll(at.Dir, 0o700)
}

// printExisting says that the space is there, which is an error unless it is fine.
func (t *tool) printExisting(space *lease.Space, check [8]byte, fine bool) error {
	defer space.Close()
	if !fine {
		return fmt.Errorf("%s exists, and a space is never replaced: use it, or name another one", space)
	}
	if check != [8]byte{} {
		if err := space.CheckSecret(check); err != nil {
			return err
		}
	}
	return t.print("%s exists\n", space)
}

// secretOfNewSpace puts the check value of the secret into the configuration. If no IDs were made before, it makes a secret that is
// missing, and says so.
func (h *home) secretOfNewSpace(config *lease.Config) (made string, err error) {
	if !h.secret.known() {
		return "", nil
	}
	secret, err := h.secret.read()
	if errors.Is(err, fs.ErrNotExist) && config.New {
		err = local.WriteSecret(h.secret.file, randflake.NewSecret())
		if err == nil {
			made = "made a new secret in " + h.secret.file + "\n"
		}
		if err == nil || errors.Is(err, fs.ErrExist) { // another process was faster
			secret, err = h.secret.read()
		}
	}
	if errors.Is(err, fs.ErrNotExist) && h.ownSecret {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	config.Check = secret.CheckValue()
	return made, nil
}
