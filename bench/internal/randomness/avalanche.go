package randomness

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/source"
)

// The avalanche test flips one bit of the plaintext or of the key and looks which bits of the
// ciphertext flip: each is to do so in half of the trials.
const (
	plaintextBits = 64
	keyBits       = 128
	inputBits     = plaintextBits + keyBits

	controlTrials = 1 << 14 // are enough to see that two steps don't do
	perKey        = 16      // trials with the same key, since a key schedule costs as much as many blocks

	// avalancheSigmas is the criterion for each cell: 12,288 cells of a perfect cipher all stay
	// within, but for one run in 41,000.
	avalancheSigmas = 6
)

// A cipherMaker returns the cipher of a key.
type cipherMaker func(key [16]byte) source.Encrypter

func twoSteps(key [16]byte) source.Encrypter { return source.NewReduced(key, reducedSteps) }

// flips are, for each input bit (the key's after the plaintext's) and output bit, in how many trials
// the output bit flipped.
type flips [inputBits][64]int64

// countFlips does n trials, in parts that don't depend on the number of processors, so that the same
// seed gives the same counts.
func countFlips(ctx context.Context, newCipher cipherMaker, seed uint64, n int) (*flips, error) {
	const parts = 16
	var tallies [parts][inputBits]tally
	err := parallel(ctx, parts, func(part int) {
		random := rand.New(rand.NewPCG(seed, uint64(part)))
		for range n / parts / perKey {
			tryKey(&tallies[part], newCipher, random)
		}
	})
	if err != nil {
		return nil, err
	}
	sum := new(flips)
	for part := range tallies {
		for input := range sum {
			for output, n := range tallies[part][input].counts() {
				sum[input][output] += n
			}
		}
	}
	return sum, nil
}

// tryKey does the trials with one random key.
func tryKey(tallies *[inputBits]tally, newCipher cipherMaker, random *rand.Rand) {
	key := source.RandomKey(random)
	var plain, flipped, before, after [perKey]uint64
	for i := range plain {
		plain[i] = random.Uint64()
	}
	cipher := newCipher(key)
	cipher.EncryptSlice(before[:], plain[:])
	compare := func(t *tally) {
		for i := range after {
			t.add(before[i] ^ after[i])
		}
	}
	for bit := range plaintextBits {
		for i, p := range plain {
			flipped[i] = p ^ 1<<bit
		}
		cipher.EncryptSlice(after[:], flipped[:])
		compare(&tallies[bit])
	}
	for bit := range keyBits {
		other := key
		other[bit/8] ^= 1 << (bit % 8)
		newCipher(other).EncryptSlice(after[:], plain[:])
		compare(&tallies[plaintextBits+bit])
	}
}

// An avalancheRow is one input bit of one source.
type avalancheRow struct {
	Source string `csv:"source"`
	Input  string `csv:"input"` // "plaintext" or "key"
	Bit    int    `csv:"bit"`
	Trials int    `csv:"trials"`
	Flips  string `csv:"flips_beyond_half"` // of each output bit, from the lowest
}

const (
	plaintext = "plaintext"
	key       = "key"
)

func runAvalanche(ctx context.Context, r *report.Results, amount amounts) error {
	var rows []avalancheRow
	for _, s := range []struct {
		name      string
		newCipher cipherMaker
		trials    int
	}{{ids, source.Library, amount.trials}, {reduced, twoSteps, controlTrials}} {
		f, err := countFlips(ctx, s.newCipher, r.Meta.Seed, s.trials)
		if err != nil {
			return err
		}
		for i, counts := range f {
			row := avalancheRow{Source: s.name, Input: plaintext, Bit: i, Trials: s.trials}
			if i >= plaintextBits {
				row.Input, row.Bit = key, i-plaintextBits
			}
			row.Flips = beyondHalf(counts, s.trials)
			rows = append(rows, row)
		}
	}
	return r.CSV("avalanche", rows)
}

func beyondHalf(counts [64]int64, trials int) string {
	fields := make([]string, len(counts))
	for i, n := range counts {
		fields[i] = strconv.FormatInt(n-int64(trials/2), 10)
	}
	return strings.Join(fields, " ")
}

// sigmas returns how far each output bit is from flipping in half of the trials, in standard
// deviations.
func (r avalancheRow) sigmas() ([]float64, error) {
	fields := strings.Fields(r.Flips)
	if len(fields) != 64 || r.Trials <= 0 {
		return nil, fmt.Errorf("avalanche: %s, bit %d: want 64 counts, have %d of %d trials", r.Input, r.Bit, len(fields), r.Trials)
	}
	z := make([]float64, len(fields))
	for i, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("avalanche: %w", err)
		}
		z[i] = float64(n) / (math.Sqrt(float64(r.Trials)) / 2)
	}
	return z, nil
}

// matrix returns the deviations of all cells of a source, a row for each input bit.
func matrix(rows []avalancheRow, source, input string) (cells [][]float64, err error) {
	for _, r := range rows {
		if r.Source == source && r.Input == input {
			z, err := r.sigmas()
			if err != nil {
				return nil, err
			}
			cells = append(cells, z)
		}
	}
	return cells, nil
}
