package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/snowflake"
)

func (t *tool) newCommand() *cobra.Command {
	o := order{format: "text"}
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make IDs",
		Long: `Make unique IDs. No setup is needed: the first call makes a secret and a store
in your state directory. Each call takes a lease; any number of calls may run at
once. IDs of sortable kinds come in order.`,
		Example: `  randflake new
  randflake new -n 10000000 > ids.txt              # uses every core
  randflake new -n 1000000 --format binary | gzip | wc -c
  randflake new --layout discord                   # sortable`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isDecimal(args[0]) && strings.Trim(args[0], "0") != "" {
				return wrong(cmd, "unexpected argument %q: for %s IDs say -n %s", args[0], args[0], args[0])
			}
			return noOperands(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return t.runNew(cmd, &o) },
	}
	countFlag(cmd, &o.n, "how many IDs")
	kindFlags(cmd, &o.choiceOfKind)
	choiceFlag(cmd, &o.format, "format", "f", "FORMAT", "see randflake help kinds (default text)",
		"text", "json", "int", "hex", "binary", "base32", "base58", "base62", "uuid")
	storeFlag(cmd, &o.home)
	secretFlag(cmd, &o.home.secret)
	return cmd
}

func (t *tool) runNew(cmd *cobra.Command, o *order) error {
	if err := o.settle(); err != nil {
		return wrong(cmd, "%v", err)
	}
	mint, err := t.jobOf(o)
	if err != nil {
		return wrong(cmd, "%v", err)
	}
	if o.format == "binary" && isTerminal(t.stdout) {
		return wrong(cmd, "--format binary is not for a terminal: send it to a file or a pipe")
	}
	if err := o.home.locate(); err != nil {
		return err
	}
	return t.unlessStopped(cmd.Context(), mint)
}

// An order has the arguments of new.
type order struct {
	choiceOfKind
	home   home
	n      int64
	format string
}

// settle completes the order, or returns an error that names flags which can't be combined.
func (o *order) settle() error {
	if err := o.choiceOfKind.settle(); err != nil {
		return err
	}
	o.kind = cmp.Or(o.kind, kindRandflake)
	switch {
	case o.kind != kindRandflake && o.home.secret.file != "":
		return fmt.Errorf("--secret-file is for --kind %s: %s IDs have no secret", kindRandflake, o.kind)
	case o.kind == kindULID && o.home.store != "":
		return fmt.Errorf("--store: %s IDs need no lease", o.kind)
	case o.kind == kindSnowflake:
		o.layout = cmp.Or(o.layout, snowflake.Twitter())
		o.home.space = spaceOf(o.layout)
	}
	return nil
}

// jobOf returns the function that executes an order. If the format is wrong, the error lists the formats of that kind.
func (t *tool) jobOf(o *order) (mint func(context.Context) error, err error) {
	switch o.kind {
	case kindRandflake:
		f, err := formatOf(randflakeFormats, o.format)
		return func(ctx context.Context) error { return t.mintRandflakes(ctx, o.home, o.n, f) }, err
	case kindSnowflake:
		f, err := formatOf(snowflakeFormats, o.format)
		return func(ctx context.Context) error { return t.mintSnowflakes(ctx, o.home, o.layout, o.n, f) }, err
	}
	f, err := formatOf(ulidFormats, o.format)
	return func(ctx context.Context) error { return t.mintULIDs(ctx, o.n, f) }, err
}

// stopped is the cause of a context that ended because a signal told the process to stop.
type stopped struct{ os.Signal }

func (s stopped) Error() string { return s.String() + " signal received" }

// unlessStopped runs work, ends its context at the first signal to stop, and notes the signal, so that the process ends by
// that signal.
func (t *tool) unlessStopped(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := untilStopped(ctx)
	defer stop()
	err := work(ctx)
	if signal := (stopped{}); errors.As(context.Cause(ctx), &signal) {
		t.stoppedBy = signal.Signal
	}
	return err
}

// untilStopped returns a context that ends with the first signal to stop. The second one ends the
// process at once.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			cancel(stopped{s})
		case <-ctx.Done():
		}
		signal.Stop(signals)
	}()
	return ctx, func() { cancel(nil) }
}
