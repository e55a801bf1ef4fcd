package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) storeInitCommand() *cobra.Command {
	r := initRequest{tool: t, trust: noTrust}
	cmd := &cobra.Command{
		Use:   "init [STORE]",
		Short: "make a space",
		RunE:  func(cmd *cobra.Command, _ []string) error { return r.run(cmd) },
	}
	storeOperand(cmd, &r.home)
	secretFlag(cmd, &r.home.secret)
	f := cmd.Flags()
	f.BoolVar(&r.config.NeverUsed, "never-used", false, "no IDs were ever made with this secret, or in this layout")
	choiceFlag(cmd, &r.trust, "trust", "", "WORD",
		"promotion (PostgreSQL) or restart (Redis) loses nothing:\nsee randflake help store trust",
		"promotion", "restart", noTrust)
	f.BoolVar(&r.ifMissing, "if-missing", false, "do not fail if the space exists")
	limits := &r.config.Limits
	f.Uint32Var(&r.layoutNodes, "nodes", 0, "`NUMBER` of nodes: as many as the layout has worker numbers (default 131072)")
	f.Var(value{"FIRST-LAST", r.setPart}, "part", "of these nodes, those that this space has: for one of several regions")
	f.DurationVar(&limits.Window, "window", 0, "`DURATION` of leases (default 1m0s)")
	f.Int64Var(&limits.Ahead, "ahead", 0, "`NUMBER` of windows that may be leased ahead (default 5)")
	f.DurationVar(&limits.MaxSkew, "max-skew", 0, "`DURATION` by which two clocks may differ (default 1m0s)")
	f.Uint32Var(&limits.Reserve, "reserve", 0,
		"`NUMBER` of nodes that are kept 64 times for the minutes after a loss\n"+
			"of data, 0 for none (default 1024 from 65537 nodes on)")
	return cmd
}

// An initRequest is what the flags of randflake store init say.
type initRequest struct {
	*tool
	home        home
	config      lease.Config
	layoutNodes uint32 // as many as the layout of the IDs has workers; 0 for Randflake IDs
	trust       string // a word
	ifMissing   bool
}

// setPart reads FIRST-LAST.
func (r *initRequest) setPart(text string) error {
	var first, last uint32
	fmt.Sscanf(text, "%d-%d", &first, &last)
	isWhole := last-first == math.MaxUint32 // then there is no number for how many nodes
	if text != fmt.Sprintf("%d-%d", first, last) || last < first || isWhole {
		return errors.New("want the first and the last node, such as 65536-131071")
	}
	r.config.Part = true
	r.config.Limits.FirstNode = first
	r.config.Limits.Nodes = last - first + 1
	return nil
}

// run makes the space, unless it is there.
func (r *initRequest) run(cmd *cobra.Command) error {
	if err := r.settle(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
	defer cancel()
	err := r.useExisting(ctx)
	if errors.Is(err, lease.ErrNoSpace) {
		return asUsage(cmd, r.makeSpace(ctx))
	}
	return err
}

// settle finds the store, refuses flags that can't be combined, and completes the configuration.
func (r *initRequest) settle(cmd *cobra.Command) (err error) {
	r.home.noSecret = r.layoutNodes > 0 && r.home.secret.file == ""
	if err := r.home.locate(); err != nil {
		return err
	}
	if err := r.checkFlags(cmd); err != nil {
		return err
	}
	if !r.config.Part {
		r.config.Limits.Nodes = r.layoutNodes
	}
	r.config.NoReserve = cmd.Flags().Changed("reserve") && r.config.Limits.Reserve == 0
	r.config.Trust, err = parseTrust(cmd, r.trust, r.home.at)
	return cmp.Or(err, asUsage(cmd, r.config.Check()))
}

// checkFlags refuses flags that can't be combined.
func (r *initRequest) checkFlags(cmd *cobra.Command) error {
	if err := refuseZeros(cmd, "nodes", "window", "ahead", "max-skew"); err != nil {
		return err
	}
	ofSnowflakes := r.layoutNodes > 0
	switch {
	case ofSnowflakes && r.home.implied:
		return wrong(cmd, "STORE is missing: "+
			"for sortable IDs, randflake new makes the space in the state directory when it is first used")
	case ofSnowflakes && r.config.Part && r.config.Limits.LastNode() >= r.layoutNodes:
		return wrong(cmd, "--part: want nodes of 0 to %d, as --nodes says", r.layoutNodes-1)
	}
	return nil
}

// refuseZeros refuses flags that were set to 0: in a configuration that would mean the default.
func refuseZeros(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		isZero := f.Value.String() == "0" || f.Value.String() == "0s"
		if f.Changed && isZero {
			return wrong(cmd, "--%s %s: want more than 0", name, f.Value)
		}
	}
	return nil
}

// useExisting opens the space that is there, and says so. Without --if-missing that is an error.
func (r *initRequest) useExisting(ctx context.Context) error {
	space, err := url.Open(ctx, r.home.storeName(), lease.Config{})
	if err != nil {
		return err
	}
	defer space.Close()
	if err := r.readCheck(); err != nil {
		return err
	}
	if !r.ifMissing {
		return fmt.Errorf("%s exists, and a space is never replaced: use it, or name another one", space)
	}
	if err := r.checkExisting(ctx, space); err != nil {
		return err
	}
	return r.print("%s exists\n", space)
}

// checkExisting returns an error if the space that is there
//   - has another secret than the command line, or none,
//   - has other limits, as with more than its part of the nodes it repeats the IDs of another one,
//   - or grants nothing any more.
//
// Its trust may have changed since it was made.
func (r *initRequest) checkExisting(ctx context.Context, space *lease.Space) error {
	want := r.config
	want.Part = want.Limits.Nodes > 0 // so that the first node counts, be it 0
	asWanted, err := url.Open(ctx, r.home.storeName(), want)
	if err != nil {
		return err
	}
	defer asWanted.Close()
	info, err := asWanted.Info(ctx)
	hasCheck := want.CheckValue != [8]byte{}
	switch {
	case err != nil:
		return err
	case hasCheck && info.CheckValue == "":
		return fmt.Errorf("%w: %s is for IDs of any secret: make another one, or give no secret", lease.ErrMismatch, space)
	case info.Retired:
		return fmt.Errorf("%w: %s: use %s", lease.ErrRetired, space, cmp.Or(info.MovedTo, "another one"))
	}
	return nil
}

// makeSpace makes the secret, if need be, and then the space.
func (r *initRequest) makeSpace(ctx context.Context) error {
	if err := makeDir(r.home.at); err != nil {
		return err
	}
	if err := r.ensureSecret(); err != nil {
		return err
	}
	if err := r.readCheck(); err != nil {
		return err
	}
	space, err := url.Create(ctx, r.home.storeName(), r.config)
	if errors.Is(err, lease.ErrExists) && r.ifMissing { // another process was faster
		return r.useExisting(ctx)
	}
	if err != nil {
		return err
	}
	defer space.Close()
	info, err := space.Info(ctx)
	if err != nil {
		return err
	}
	return r.print("made %s: %s\n%s", space, beginningOfNew(info), costOfLoss(info.Limits))
}

func makeDir(at url.Location) error {
	if at.Dir == "" {
		return nil
	}
	return os.MkdirAll(at.Dir, 0o700)
}

// ensureSecret makes the secret if it is missing, and the user says that no IDs were made before.
func (r *initRequest) ensureSecret() error {
	file := r.home.secret.file
	_, err := os.Stat(file)
	isMissing := file != "" && errors.Is(err, fs.ErrNotExist)
	if !isMissing || !r.config.NeverUsed {
		return nil
	}
	err = local.WriteSecret(file, randflake.NewSecret())
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // another process was faster
	case err != nil:
		return err
	}
	return r.print("made a new secret in %s\n", file)
}

// readCheck puts the check value of the secret into the configuration. Without a secret the space is for any.
func (r *initRequest) readCheck() error {
	hasRead := r.config.CheckValue != [8]byte{} // reading RANDFLAKE_SECRET unsets it, so it is read once
	if hasRead || !r.home.secret.known() {
		return nil
	}
	secret, err := r.home.secret.read()
	switch {
	case r.home.ownSecret && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	r.config.CheckValue = secret.CheckValue()
	return nil
}

// costOfLoss says for how long a loss of data stops all programs, if it does.
func costOfLoss(limits lease.Limits) string {
	pause := limits.LossPause()
	switch {
	case pause == 0:
		return ""
	case limits.Reserve == 0:
		return fmt.Sprintf("it has no reserve: after a loss of data programs make no IDs for up to %v\n", pause)
	}
	return fmt.Sprintf("after a loss of data programs make no IDs for up to %v: "+
		"take a larger --window or --ahead\n", pause)
}

// beginningOfNew says from when on leases are granted in a space that was just made.
func beginningOfNew(info lease.Info) string {
	begin := "leases begin at once"
	if info.Floor.After(time.Now()) {
		begin = fmt.Sprintf("leases begin at %s, when those of an earlier space have ended: "+
			"if it had other limits than nodes %d to %d, --window %v --ahead %d --max-skew %v --reserve %d, "+
			"make this one with those, under another name",
			clockTime(info.Floor), info.FirstNode, info.LastNode(), info.Window, info.Ahead, info.MaxSkew, info.Reserve)
	}
	if info.CheckValue == "" && info.Nodes == randflake.MaxNode+1 {
		begin += "; for IDs of any secret: make another one with --secret-file to have all other secrets refused"
	}
	if info.Nodes <= randflake.MaxNode {
		begin += fmt.Sprintf("\nit has nodes %d to %d, "+
			"of which no other space of the same secret or layout may have one, in any store: "+
			"compare all with randflake store info STORE STORE...", info.FirstNode, info.LastNode())
	}
	return begin
}
