package peers

import (
	"context"
	"time"
	"unsafe"

	"github.com/randflake/randflake"
)

// own returns what this repository makes that nobody can predict.
func own() []Peer {
	const (
		limit     = "131,072/s for each of 131,072 nodes"
		perSecond = allNodes << randflake.SequenceBits
		unique    = "a permutation of (second, node, sequence), and nodes are leased"
	)
	return []Peer{{
		Name: "randflake Generate", Package: "github.com/randflake/randflake, Generator.Generate, all nodes leased",
		Kind: Own, Bits: 64, Limit: limit, PerSecond: perSecond, Unpredictable: "yes", Sortable: "no", Unique: unique,
		Featured: true, Open: openGenerate,
	}, {
		Name: "randflake Fill", Package: "github.com/randflake/randflake, Generator.Fill, 1,024 IDs a call, all nodes leased",
		Kind: Own, Bits: 64, Limit: limit, PerSecond: perSecond, Unpredictable: "yes", Sortable: "no", Unique: unique,
		Featured: true, Open: openFill,
	}, {
		Name: "randflake Wait", Package: "github.com/randflake/randflake, Generator.Wait, one node leased",
		Kind: Own, Bits: 64, Limit: "131,072/s for this one node", PerSecond: 1 << randflake.SequenceBits, Unpredictable: "yes", Sortable: "no", Unique: unique,
		AtLimit: true, Open: openWait,
	}, {
		Name: "Cipher Encrypt", Package: "github.com/randflake/randflake, Cipher.Encrypt, one block",
		Kind: Own, Bits: 64, Limit: "none: as often as there is a number to encrypt", Unpredictable: "yes", Sortable: "no",
		Unique: "a permutation: if the numbers are", Open: openEncrypt,
	}, {
		Name: "published algorithm 1.8", Package: "`bench/internal/peers/published.go`: that of gosuda.org/randflake v1.8, with a lock around clock and counter, without which it repeats IDs; all nodes",
		Kind: Published, Bits: 64, Limit: limit, PerSecond: perSecond, Unpredictable: "yes", Sortable: "no", Unique: unique,
		Featured: true, Open: openPublished(openPublished1),
	}, {
		Name: "published algorithm 2.1", Package: "`bench/internal/peers/published.go`: that of gosuda.org/randflake/v2 v2.1.0, with one compare-and-swap of clock and counter; all nodes",
		Kind: Published, Bits: 64, Limit: limit, PerSecond: perSecond, Unpredictable: "yes", Sortable: "no", Unique: unique,
		Featured: true, Open: openPublished(openPublished2),
	}}
}

// Generator returns a generator with its own secret and so many nodes, whose lease has begun.
func Generator(nodes uint32) (*randflake.Generator, error) {
	start := time.Now().Truncate(time.Second)
	return randflake.New(randflake.NewSecret(), randflake.Lease{
		LastNode: nodes - 1, Start: start, End: start.Add(24 * time.Hour),
	})
}

// allNodes is how many there are: the limit of the format stays out of sight.
const allNodes = randflake.MaxNode + 1

func openGenerate() (Maker, error) {
	return generating(allNodes, func(g *randflake.Generator) Source {
		return Source{Next: func() (high, low uint64, err error) {
			id, err := g.Generate()
			return 0, uint64(id), err
		}}
	})
}

func openFill() (Maker, error) {
	return generating(allNodes, func(g *randflake.Generator) Source {
		values := make([]uint64, 1024)
		ids := unsafe.Slice((*randflake.ID)(unsafe.Pointer(&values[0])), len(values))
		return Source{Bulk: values, Next: func() (high, low uint64, err error) {
			_, err = g.Fill(ids)
			return 0, values[0], err
		}}
	})
}

func openWait() (Maker, error) {
	ctx := context.Background()
	return generating(1, func(g *randflake.Generator) Source {
		return Source{Next: func() (high, low uint64, err error) {
			id, err := g.Wait(ctx)
			return 0, uint64(id), err
		}}
	})
}

// generating returns a maker of sources of one generator.
func generating(nodes uint32, source func(*randflake.Generator) Source) (Maker, error) {
	g, err := Generator(nodes)
	if err != nil {
		return Maker{}, err
	}
	return Maker{
		Source: func() Source { return source(g) },
		Close:  func() { g.Close() },
	}, nil
}

func openEncrypt() (Maker, error) {
	cipher := randflake.NewCipher(randflake.NewSecret())
	return counting(func(counter *line) Source {
		return Source{Next: func() (high, low uint64, err error) {
			counter.n++
			return 0, uint64(cipher.Encrypt(randflake.Raw(counter.n))), nil
		}}
	}), nil
}
