// Package distribution is the chapter that shows what IDs look like. How they do in tests of
// randomness is a chapter of its own.
package distribution

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "distribution",
		About:  "what IDs look like",
		Quick:  time.Second,
		Full:   time.Second,
		Run:    run,
		Render: render,
	}
}

const (
	counted = 10_000_000 // IDs in the histogram
	bins    = 256        // by their highest 8 bits
	shown   = 128        // IDs in the raster
)

// A bin is how many IDs begin with these 8 bits, and how many raw values.
type bin struct {
	HighByte int   `csv:"high_byte"`
	IDs      int64 `csv:"ids"`
	Raw      int64 `csv:"raw_values"`
}

// A pair is a raw value and the ID that it is encrypted to.
type pair struct {
	Raw string `csv:"raw"`
	ID  string `csv:"id"`
}

// run makes IDs with a clock that stands still and a secret from the seed: so that the same seed gives
// the same IDs, on any machine.
func run(ctx context.Context, r *report.Results) error {
	start := time.Unix(randflake.Epoch, 0).AddDate(2, 0, 0)
	lease := randflake.Lease{LastNode: randflake.MaxNode, Start: start, End: start.Add(time.Second)}
	secret, err := secretOf(r.Meta.Seed)
	if err != nil {
		return err
	}
	g, err := randflake.New(secret, lease, randflake.WithClock(func() time.Time { return start }))
	if err != nil {
		return err
	}
	defer g.Close()
	histogram := make([]bin, bins)
	for i := range histogram {
		histogram[i].HighByte = i
	}
	var pairs []pair
	ids := make([]randflake.ID, 10_000)
	for range counted / len(ids) {
		if _, err := g.Fill(ids); err != nil {
			return err
		}
		for _, id := range ids {
			raw := uint64(g.Cipher().Decrypt(id))
			histogram[uint64(id)>>56].IDs++
			histogram[raw>>56].Raw++
			if len(pairs) < shown {
				pairs = append(pairs, pair{fmt.Sprintf("%016x", raw), fmt.Sprintf("%016x", uint64(id))})
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := r.CSV("raster", pairs); err != nil {
		return err
	}
	return r.CSV("histogram", histogram)
}

// secretOf returns the secret of a seed, which anybody can know.
func secretOf(seed uint64) (randflake.Secret, error) {
	random := rand.New(rand.NewPCG(seed, 3))
	key := binary.LittleEndian.AppendUint64(nil, random.Uint64())
	return randflake.SecretFromBytes(binary.LittleEndian.AppendUint64(key, random.Uint64()))
}

// values returns the numbers of a column of the raster.
func values(pairs []pair, column func(pair) string) ([]uint64, error) {
	var list []uint64
	for _, p := range pairs {
		b, err := hex.DecodeString(column(p))
		if err != nil || len(b) != 8 {
			return nil, fmt.Errorf("raster: want 16 hex digits, have %q", column(p))
		}
		list = append(list, binary.BigEndian.Uint64(b))
	}
	return list, nil
}
