package scaling

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/measure"
)

// demands are rates of calls per second: one node has 131,072 IDs.
var demands = []int{8_000, 16_000, 32_000, 64_000, 96_000, 128_000, 136_000, 192_000, 256_000, 512_000, 1_024_000}

// met is how a demand on one node was met.
type met struct {
	Demand       int     `csv:"demand_per_second"`
	Called       float64 `csv:"called_per_second"`
	HandedOut    float64 `csv:"handed_out_per_second"`
	Refused      float64 `csv:"refused_per_second"`
	NsHandedOut  float64 `csv:"ns_per_id"`      // a call that returns an ID, clock included
	NsRefused    float64 `csv:"ns_per_refusal"` // a call that returns ErrExhausted; 0 when there is none
	WholeSeconds int     `csv:"seconds"`
}

// overDemand calls Generate on one node at one rate after another, each for some seconds.
func overDemand(ctx context.Context, seconds int, progress func(float64)) (list []met, err error) {
	rate := measure.TicksPerNanosecond()
	for i, demand := range demands {
		m, err := meet(ctx, demand, seconds, rate)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		progress(float64(i+1) / float64(len(demands)))
	}
	return list, nil
}

// meet makes as many calls as are due, sleeps for a millisecond, and so on. Where it can't keep up it
// looks at the clock after a thousand calls, so as to end in time.
func meet(ctx context.Context, demand, seconds int, rate float64) (met, error) {
	start, during := measure.NextSecond(), time.Duration(seconds)*time.Second
	g, err := randflake.New(randflake.NewSecret(), randflake.Lease{Start: start, End: start.Add(during)})
	if err != nil {
		return met{}, err
	}
	defer g.Close()
	if err := measure.Until(ctx, start); err != nil {
		return met{}, err
	}
	const most = 1000
	var ids, refusals, idTicks, refusalTicks float64
	for called := 0; time.Since(start) < during; {
		due := int(time.Since(start).Seconds() * float64(demand))
		behind := due - called
		for range min(behind, most) {
			from := measure.Ticks()
			_, err := g.Generate()
			ticks := float64(measure.Ticks() - from)
			switch {
			case err == nil:
				ids, idTicks = ids+1, idTicks+ticks
			case errors.Is(err, randflake.ErrExhausted):
				refusals, refusalTicks = refusals+1, refusalTicks+ticks
			case errors.Is(err, randflake.ErrLeaseEnded): // the time was up during these calls
			default:
				return met{}, err
			}
		}
		if called += min(behind, most); behind > most {
			continue
		}
		if err := measure.Until(ctx, time.Now().Add(time.Millisecond)); err != nil {
			return met{}, err
		}
	}
	took := during.Seconds()
	return met{
		Demand: demand, Called: (ids + refusals) / took, HandedOut: ids / took, Refused: refusals / took,
		NsHandedOut: idTicks / rate / max(ids, 1), NsRefused: refusalTicks / rate / max(refusals, 1), WholeSeconds: seconds,
	}, nil
}
