package peers

import (
	"context"
	"time"

	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// ownSortable returns what this repository makes in the order of time.
func ownSortable() []Peer {
	const (
		perSecond = 4096e3
		unique    = "millisecond, worker, sequence, and workers are leased"
	)
	return []Peer{{
		Name: "Snowflake randflake", Package: "github.com/randflake/randflake/snowflake, Generator.Generate, RunAhead, layout Twitter, one worker",
		Kind: Own, Bits: 64, Limit: "4,096,000/s for each of 1,024 workers; beyond, its time runs ahead", PerSecond: perSecond, Unpredictable: "no",
		Sortable: "yes", Unique: unique,
		Featured: true, Open: openOwnSnowflake(generatingSnowflakes, snowflake.RunAhead(20*365*24*time.Hour)),
	}, {
		Name: "Snowflake randflake waiting", Package: "github.com/randflake/randflake/snowflake, Generator.Wait, layout Twitter, one worker",
		Kind: Own, Bits: 64, Limit: "4,096,000/s for each of 1,024 workers; beyond, it waits", PerSecond: perSecond, Unpredictable: "no",
		Sortable: "yes", Unique: unique,
		AtLimit: true, Open: openOwnSnowflake(waitingForSnowflakes),
	}, {
		Name: "ULID randflake", Package: "github.com/randflake/randflake/ulid, Generator.Generate",
		Kind: Own, Bits: 128, Limit: "none", Unpredictable: "yes, but the time shows: 32 random bits to the next one",
		Sortable: "yes, of one processor; by the millisecond among them", Unique: "80 random bits for each millisecond and processor",
		Featured: true, Open: openOwnULID,
	}}
}

func openOwnSnowflake(source func(*snowflake.Generator) Source, options ...snowflake.Option) func() (Maker, error) {
	return func() (Maker, error) {
		g, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(1), options...)
		if err != nil {
			return Maker{}, err
		}
		return Maker{
			Source: func() Source { return source(g) },
			Close:  func() { g.Close() },
		}, nil
	}
}

func generatingSnowflakes(g *snowflake.Generator) Source {
	return Source{Next: func() (high, low uint64, err error) {
		id, err := g.Generate()
		return 0, uint64(id), err
	}}
}

func waitingForSnowflakes(g *snowflake.Generator) Source {
	return Source{Next: func() (high, low uint64, err error) {
		id, err := g.Wait(context.Background())
		return 0, uint64(id), err
	}}
}

func openOwnULID() (Maker, error) {
	g, err := ulid.New()
	if err != nil {
		return Maker{}, err
	}
	return each(func() (high, low uint64, err error) {
		id, err := g.Generate()
		high, low = ends(id[:])
		return high, low, err
	})()
}
