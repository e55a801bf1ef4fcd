package cli

import (
	"cmp"
	"context"
	"encoding/hex"
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
	"github.com/randflake/randflake/lease/postgres"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) storeCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "store",
		Short: "make stores, and say what is wrong with one",
		Long: `Make the space of leases and counters in a store, say how it is, report that it
lost data, and move it. STORE is as in "randflake help stores".`,
	}, t.storeInitCommand(), t.storeInfoCommand(), t.storeReportLossCommand(), t.storeMoveCommand(), t.storeRetireCommand(), t.storeDDLCommand())
}

// storeOperand makes a command take STORE as a flag, or as its only operand.
func storeOperand(cmd *cobra.Command, h *home) {
	storeFlag(cmd, h)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && h.store != "" {
			return wrong(cmd, "unexpected argument %q beside --store", args[0])
		}
		if len(args) == 1 {
			h.store, args = args[0], nil
		}
		return noOperands(cmd, args[min(1, len(args)):])
	}
}

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
	f.Uint32Var(&config.Limits.Reserve, "reserve", 0, "nodes that are kept 64 times for the minutes after a loss\nof data, 0 for none (default 1024 of 131072)")
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
	switch space, err := url.Open(ctx, h.name(), lease.Config{}); {
	case err == nil:
		if secret, err := h.readSecret(); err == nil {
			config.Check = secret.CheckValue()
		}
		return t.printExisting(space, config.Check, ifMissing)
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

// clockTime writes a time as programs log theirs.
func clockTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

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

func (t *tool) storeInfoCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "info [STORE]",
		Short: "say how a space is, and what is wrong with it",
		Long: `Say how a space is: its limits, whether its secret is this one, how many nodes of
the present window are leased, whether data was lost and since when leases go
on, whether it is retired, which counters wait to be set. The exit status is 1 if
something is wrong.`,
		Example: "  randflake store info --store postgres://app@db/shop --secret-file secret",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return h.onSpace(cmd, func(ctx context.Context, space *lease.Space) error { return t.printInfo(ctx, &h, space) })
		},
	}
	storeOperand(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// printInfo prints what is good about a space and then what is wrong.
func (t *tool) printInfo(ctx context.Context, h *home, space *lease.Space) error {
	var good, bad []string
	ok := func(format string, args ...any) {
		good = append(good, "ok     "+t.inLine(fmt.Sprintf(format, args...))+"\n")
	}
	fault := func(format string, args ...any) {
		bad = append(bad, "wrong  "+t.inLine(fmt.Sprintf(format, args...))+"\n")
	}
	info, err := space.Info(ctx)
	switch {
	case err != nil && info.Nodes == 0:
		return err
	case err != nil:
		fault("%v", err)
	}
	ok("%s has %d nodes, in windows of %v, of which %d may be leased ahead; clocks may differ by %v", space, info.Nodes, info.Window, info.Ahead, info.MaxSkew)
	if info.Reserve > 0 {
		ok("%d nodes are leased while no data was lost, and 64 times %d are a reserve for the minutes after a loss", info.Main, info.Reserve)
	}
	ok("nodes of the present window that are leased: %d", info.Taken)
	if !info.Time.IsZero() {
		ahead := time.Until(info.Time).Round(time.Millisecond)
		where := "ahead of"
		if ahead < 0 {
			where = "behind"
		}
		ok("the server's clock is %v %s this one", ahead.Abs(), where)
	}
	if info.Lost != "" {
		fault("data was lost, which is not noted yet: %s: the next program that takes a lease notes it: or run randflake store report-loss %s", info.Lost, h)
	}
	most := info.Main
	now := time.Now()
	switch {
	case info.Retired && info.Successor == "":
		fault("it is retired, and grants nothing any more: move it with randflake store move %s NEW", h)
	case info.Retired:
		fault("it is retired, and grants nothing any more: use %s", info.Successor)
	case !now.Before(info.Low):
	case info.Opens.IsZero():
		fault("no lease begins before %s: %s: wait until then", clockTime(info.Low), info.Why)
	case now.Before(info.Opens):
		fault("no lease is granted before %s: %s: wait until then: programs go on under the leases that they have", clockTime(info.Opens), info.Why)
	default:
		most = info.Reserve
		ok("until %s leases are of the reserve: %s", clockTime(info.Low), info.Why)
	}
	if 10*uint64(info.Taken) > 9*uint64(most) {
		fault("%d of %d nodes are leased: in this window few programs can start: take more nodes or shorter windows, in another space", info.Taken, most)
	}
	if info.Losses > 0 {
		ok("losses of data: %d, the last one: %s", info.Losses, info.Why)
	}
	switch secret, err := h.readSecret(); {
	case err != nil && h.secret.known() && !errors.Is(err, fs.ErrNotExist):
		fault("%v", err)
	case err == nil:
		check := secret.CheckValue()
		if err := space.CheckSecret(check); err != nil {
			fault("%v", err)
		} else if info.Check == hex.EncodeToString(check[:]) {
			ok("the secret is that of the space")
		} else {
			ok("it is for IDs of any secret")
		}
	}
	counters, err := countersOf(ctx, space, "")
	if err != nil {
		fault("%v", err)
	}
	var waiting []string
	for _, c := range counters {
		if c.Lost {
			waiting = append(waiting, c.Name)
		}
	}
	if n := len(waiting); n > 0 {
		fault("%d counters give no number until they are set, as data was lost: %s: run randflake counter set", n, strings.Join(waiting[:min(n, 10)], ", "))
	}
	if err := t.print("%s", strings.Join(append(good, bad...), "")); err != nil || len(bad) == 0 {
		return err
	}
	return errReported
}

func (t *tool) storeReportLossCommand() *cobra.Command {
	var h home
	var why string
	cmd := &cobra.Command{
		Use:   "report-loss [STORE]",
		Short: "say that a store lost data where it can't tell",
		Long: `Say that the data of a store may be an older copy, such as a backup or snapshot
that was restored. Programs go on under the leases that they have. For about a
minute no lease is granted, or in a space without a reserve for some minutes,
until all that may be forgotten have ended. Each counter waits until it is set.
To report a loss that was none costs no more than that.`,
		Example: "  randflake store report-loss --why 'snapshot of Monday restored'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return h.onSpace(cmd, func(ctx context.Context, space *lease.Space) error {
				if err := space.ReportLoss(ctx, why); err != nil {
					return err
				}
				info, err := space.Info(ctx)
				if err != nil {
					return err
				}
				if info.Retired {
					return t.print("noted: %s stays retired, and grants nothing any more\n", space)
				}
				return t.print("noted: %s; set each counter beyond all numbers that it gave\n", beginning(info))
			})
		},
	}
	storeOperand(cmd, &h)
	cmd.Flags().StringVar(&why, "why", "reported by hand", "for those who look at the space later")
	return cmd
}

// beginning says from when on leases are granted again, in a space whose data was lost or that was moved.
func beginning(info lease.Info) string {
	if info.Opens.IsZero() {
		return "leases begin at " + clockTime(info.Low)
	}
	return fmt.Sprintf("leases are granted from %s on, until %s of the reserve of %d nodes", clockTime(info.Opens), clockTime(info.Low), info.Reserve)
}

func (t *tool) storeDDLCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "ddl [STORE]",
		Short: "print the DDL of a store in PostgreSQL",
		Long: `Print the statements that create the schema of a store in PostgreSQL, for an
administrator to run if programs may not create schemas. Then make the space in
it with "randflake store init". This command connects to no server.`,
		Example: "  randflake store ddl 'postgres://app@db/shop?schema=ids' | psql shop",
	}
	storeOperand(cmd, &h)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		named, err := url.FromEnvironment()
		name, schema := cmp.Or(h.store, named), ""
		if err == nil && name != "" && name != "postgres" {
			schema, err = postgres.SchemaOf(name)
		}
		if err != nil {
			return err
		}
		text, err := postgres.DDL(schema)
		if err != nil {
			return err
		}
		return t.print("%s", text)
	}
	return cmd
}
