package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/randflake/randflake/snowflake"
)

const newUsage = `Usage: randflake new [-n N] [-kind K] [-layout L] [-format F] [-store STORE] [-secret-file F]

Mints unique IDs. It works at once, without any flag: the first call makes a secret and a lease store
in your state directory. Each call takes a lease from the store and gives it back at its end; any
number may run at the same time.

  -n N          how many (default 1)
  -kind K       randflake   64 bits that look random, in no order that means anything (the default)
                snowflake   up to 64 bits that sort by time and show it, in ascending order
                ulid        128 bits that sort by time and show it, in ascending order; it
                            takes neither lease nor secret
  -layout L     the layout of Snowflake IDs, whose -kind need not be said then: twitter (the default
                of -kind snowflake), worker10, discord, instagram, sonyflake, baidu, node8 or
                javascript53, or one written out: "NAME: time 41, worker 10, sequence 12; 1ms since
                2025-01-01T00:00:00Z"; those that have ended make no IDs any more
  -format F     text     base32hex; for snowflake decimal; for ulid 26 digits (the default)
                json     the text as a JSON string
                int      signed decimal; not for ulid
                hex      0x and 16 digits; not for ulid
                binary   8 bytes each, little-endian; for snowflake big-endian; for ulid 16 bytes
                base32, base58, base62   for snowflake: 13, 11 and 11 digits that sort as the IDs do
                uuid     for ulid: as a UUID
                all but binary one a line

When the reader of a pipe has had enough, that is no failure. Stopped by a signal, the command gives
its lease back and fails.

A layout bounds what one call can make, to 4,096 IDs a millisecond with twitter and to 256 in 10 ms
with sonyflake: a long run waits for its turn. Their order is that of one call, and holds while the
clock is not set back.
` + homeUsage + `
A store in a directory serves this machine. Where many machines share a secret they share the store
of a server; a copy of the state directory on another machine repeats IDs.

Snowflake IDs have no secret. Their worker numbers come from a store all the same, and all that mint
in one ID space must share it. Without -store and RANDFLAKE_STORE that is a directory of its own for
each layout, randflake-snowflake/LAYOUT beside your state directory (twitter serves worker10 too, as
the IDs are the same; a layout that is written out goes by its parts, unit and epoch). It knows of
nobody else who makes IDs of that layout, and is good for those of this user on this machine: to add
to the IDs of a service, name the service's store.
`

func (t *tool) runNew(ctx context.Context, args []string) error {
	flags := newFlags("new", newUsage)
	o := order{n: 1}
	flags.kindFlags(&o.choiceOfKind)
	flags.homeFlags(&o.home)
	flags.StringVar(&o.format, "format", "text", "")
	flags.Func("n", "", func(text string) (err error) {
		o.n, err = parseCount(text)
		return err
	})
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return flags.wrong("%v", err)
	}
	work, err := t.jobOf(&o)
	if err != nil {
		return flags.wrong("%v", err)
	}
	if o.n == 0 {
		return nil
	}
	if err := o.home.resolve(t); err != nil {
		return err
	}
	ctx, stop := untilStopped(ctx)
	defer stop()
	return work(ctx)
}

// An order is what the command line of new asks for.
type order struct {
	choiceOfKind
	home   home
	n      int64
	format string
}

// settle completes the order, or says which flags do not go together.
func (o *order) settle() error {
	if err := o.choiceOfKind.settle(); err != nil {
		return err
	}
	o.kind = cmp.Or(o.kind, kindRandflake)
	switch {
	case o.kind != kindRandflake && o.home.secretFile != "":
		return fmt.Errorf("-secret-file is for -kind %s: %s IDs have no secret", kindRandflake, o.kind)
	case o.kind == kindULID && o.home.store != "":
		return fmt.Errorf("-store: %s IDs need no lease", o.kind)
	case o.kind == kindSnowflake:
		o.layout = cmp.Or(o.layout, snowflake.Twitter())
		o.home.space = spaceOf(o.layout)
	}
	return nil
}

// jobOf returns what carries out an order of a kind that the program makes. The error says which formats
// that kind has.
func (t *tool) jobOf(o *order) (job, error) {
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

// parseCount reads the value of -n.
func parseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("want a whole number from 0 to 9223372036854775807")
	}
	return n, nil
}

// untilStopped returns a context that ends with the first signal to stop. The second one ends the
// process at once.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	var wanted []os.Signal
	for _, s := range stopSignals {
		if !signal.Ignored(s) { // as under nohup
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 { // which would mean all signals
		return context.WithCancel(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, wanted...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
