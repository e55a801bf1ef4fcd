package scaling

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/peers"
)

// A caller asks one node for more than it has, some IDs a call.
type caller struct {
	name string
	sees string
	size int
	call func(ctx context.Context, g *randflake.Generator, ids []randflake.ID) (n int, err error)
}

// Callers want 2,000 IDs every five milliseconds: three times what there is.
const (
	perPeriod = 2000
	period    = 5 * time.Millisecond
)

var callers = []caller{{
	name: "Generate", sees: "`ErrExhausted`, at once", size: 1,
	call: func(_ context.Context, g *randflake.Generator, ids []randflake.ID) (n int, err error) {
		return got(g.Generate())
	},
}, {
	name: "Fill", sees: "a short count, with `ErrExhausted`", size: perPeriod,
	call: func(_ context.Context, g *randflake.Generator, ids []randflake.ID) (n int, err error) {
		return g.Fill(ids)
	},
}, {
	name: "Wait", sees: "a wait for the next second", size: 1,
	call: func(ctx context.Context, g *randflake.Generator, ids []randflake.ID) (n int, err error) {
		return got(g.Wait(ctx))
	},
}}

func got(_ randflake.ID, err error) (n int, _ error) {
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// A moment is how far a caller had come at some time: counts from the beginning.
type moment struct {
	Caller    string  `csv:"caller"`
	Seconds   float64 `csv:"seconds"` // since the beginning of a second
	Wanted    int     `csv:"wanted"`
	HandedOut int     `csv:"handed_out"`
	Calls     int     `csv:"calls"`
	Refusals  int     `csv:"refusals"` // calls with ErrExhausted
	Longest   float64 `csv:"longest_call_ns"`
}

// atLimit has one caller after another ask for more than one node has, for some seconds each.
func atLimit(ctx context.Context, seconds int, progress func(float64)) (list []moment, err error) {
	for i, c := range callers {
		moments, err := c.ask(ctx, time.Duration(seconds)*time.Second)
		if err != nil {
			return nil, err
		}
		list = append(list, outline(moments)...)
		progress(float64(i+1) / float64(len(callers)))
	}
	return list, nil
}

// outline leaves out the moments that lie close to the one kept before and to the one after.
func outline(moments []moment) (kept []moment) {
	const near = 0.02 // seconds
	for i, m := range moments {
		if i == 0 || i == len(moments)-1 || m.Seconds-kept[len(kept)-1].Seconds > near || moments[i+1].Seconds-m.Seconds > near {
			kept = append(kept, m)
		}
	}
	return kept
}

// ask wants IDs every period. Who waits falls behind, and goes on without a pause.
func (c caller) ask(ctx context.Context, during time.Duration) (moments []moment, err error) {
	g, err := peers.Generator(1)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	start := measure.NextSecond()
	ids, now := make([]randflake.ID, c.size), moment{Caller: c.name}
	for due := start; due.Before(start.Add(during)) && time.Since(start) < during; due = due.Add(period) {
		if err := measure.Until(ctx, due); err != nil {
			return nil, err
		}
		for range perPeriod / c.size {
			if err := c.once(ctx, g, ids, &now); err != nil {
				return nil, err
			}
		}
		now.Seconds = time.Since(start).Seconds()
		moments = append(moments, now)
	}
	return moments, nil
}

// once makes one call and counts what came of it.
func (c caller) once(ctx context.Context, g *randflake.Generator, ids []randflake.ID, now *moment) error {
	from := time.Now()
	n, err := c.call(ctx, g, ids)
	now.Longest = max(now.Longest, float64(time.Since(from)))
	now.Wanted += c.size
	now.HandedOut += n
	now.Calls++
	if errors.Is(err, randflake.ErrExhausted) {
		now.Refusals++
		return nil
	}
	return err
}
