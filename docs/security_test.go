// Package docs holds the proofs of numbers in the documentation.
package docs

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

const (
	blockBits = randflake.TimestampBits + randflake.NodeBits + randflake.SequenceBits
	keyBits   = 128

	rounds    = 24 // of SPARX-64/128
	attacked  = 18 // rounds, by the best attack
	chosenLog = 32 // log2 of the ciphertexts of the attack on 16 rounds

	day, year = 86400, 365.25 * day // seconds
)

// computed returns what the page says of numbers that follow from others, in its words.
func computed() []string {
	sentences := []string{
		fmt.Sprintf("%d-bit", blockBits),
		fmt.Sprintf("%d of %d rounds", rounds-attacked, rounds),
		fmt.Sprintf("attacks on %d rounds", attacked),
		fmt.Sprintf("at %s a second, 2^%d of them take %.0f days", thousands(1000), chosenLog, math.Exp2(chosenLog)/1000/day),

		fmt.Sprintf("1-exp(-n^2/2^%d): %.1f%% at 10^9 IDs, 50%% at %.1f x 10^9", blockBits+1, 100*repeat(1e9, blockBits), math.Sqrt(math.Exp2(blockBits+1)*math.Ln2)/1e9),
		fmt.Sprintf("Spaces of 10^9 IDs each have an ID in common with a probability of %.1f%%", 100*-math.Expm1(-1e9*1e9/math.Exp2(blockBits))),

		fmt.Sprintf("N / 2^%d", blockBits),
		fmt.Sprintf("With 10^9 rows and %s guesses a second that is %.1f hits a year", thousands(1000), 1e9/math.Exp2(blockBits)*1000*year),
		fmt.Sprintf("with 10^6 rows, %.1f in %s years", 1e6/math.Exp2(blockBits)*1000*year*1000, thousands(1000)),
		fmt.Sprintf("%d random bits", keyBits),

		fmt.Sprintf("2^%d tries on average: %s years at 10^12 tries a second", keyBits-1, scientific(math.Exp2(keyBits-1)/1e12/year)),
		fmt.Sprintf("40 bits of entropy is found within %.0f hours at 10^8 tries a second", math.Exp2(40)/1e8/3600),
		"one in 2^bits",
		fmt.Sprintf("less than half a wrong key of all 2^%d", keyBits),
		fmt.Sprintf("2^%d / k tries", keyBits),
		fmt.Sprintf("Against 10^6 secrets that is 2^%.0f tries, or %s years at 10^12 tries a second", keyBits-math.Log2(1e6), scientific(math.Exp2(keyBits)/1e6/1e12/year)),

		fmt.Sprintf("%.0f minutes by default", (store.DefaultLimits().MaxTTL + store.DefaultLimits().MaxSkew).Minutes()),
		fmt.Sprintf("(%.0f minute by default)", store.DefaultLimits().MaxSkew.Minutes()),
	}
	for _, k := range knowledge {
		sentences = append(sentences, fmt.Sprintf("| %s | %.1f | %d |", k.words, k.bits, confirming(k.bits)))
	}
	for _, w := range windows {
		sentences = append(sentences, fmt.Sprintf("| %s | %s |", w.words, thousands(significant(1/share(w.lease)))))
	}
	return sentences
}

// said is what sources say, in the page's words.
var said = []struct{ source, words string }{
	{"sparx", "a block of 64 bits, a key of 128 bits and 24 rounds"},
	{"zhou", "18 of 24"},
	{"xu", "18 of 24"},
	{"ankele", "16 of 24"},
	{"ankele", "2^32 chosen ciphertexts and about 2^93 encryptions"},
	{"spanner", "less than 10 ms"},
	{"cockroach", "500 ms by default"},
	{"cockroach", "80% of it from at least half of the others"},
}

// names have digits that count nothing; the date is that of a search.
var names = []string{"SPARX-64/128", "November 2026", "amd64", "arm64", "FF1", "AVX-512", "AVX2"}

// repeat returns the probability that some of n random numbers of so many bits are equal.
func repeat(n float64, bits int) float64 { return -math.Expm1(-n * n / math.Exp2(float64(bits)+1)) }

// knowledge is what an attacker may know of the raw value of an ID.
var knowledge = []struct {
	words string
	bits  float64
}{
	{"the day", secondBits(day)},
	{"the day, and 16 nodes that it is one of", secondBits(day) + randflake.NodeBits - 4},
	{"the same, and a sequence below 1,024, as that of a slow generator", secondBits(day) + randflake.NodeBits - 4 + randflake.SequenceBits - 10},
	{"second and node", randflake.TimestampBits + randflake.NodeBits},
	{"all of it", blockBits},
}

func secondBits(window float64) float64 { return randflake.TimestampBits - math.Log2(window) }

// confirming returns how many IDs leave less than half a wrong key on average.
func confirming(bits float64) (ids int) {
	for ids = 1; math.Exp2(keyBits-float64(ids)*bits) >= 0.5; ids++ {
	}
	return ids
}

// windows are the rows of the table on Within. Where a window lies makes no difference.
var windows = []struct {
	words string
	lease randflake.Lease
}{
	{"a year | all", window(365*day, 0, randflake.MaxNode)},
	{"a year | 16", window(365*day, 4320, 4335)},
	{"a day | all", window(day, 0, randflake.MaxNode)},
	{"a day | 16", window(day, 4320, 4335)},
	{"an hour | 1", window(3600, 4321, 4321)},
}

func window(seconds int64, first, last uint32) randflake.Lease {
	start := time.Unix(randflake.Epoch+5*365*day, 0)
	return randflake.Lease{FirstNode: first, LastNode: last, Start: start, End: start.Add(time.Duration(seconds) * time.Second)}
}

// share returns the share of all values that open to a second and a node of l. It is exact, as the cipher is a permutation.
func share(l randflake.Lease) float64 {
	return l.End.Sub(l.Start).Seconds() / (1 << randflake.TimestampBits) * float64(l.LastNode-l.FirstNode+1) / (1 << randflake.NodeBits)
}

// around returns a window eight times as long, with eight times the nodes if l has not all.
func around(l randflake.Lease) randflake.Lease {
	length, nodes := l.End.Sub(l.Start), l.LastNode-l.FirstNode+1
	l.Start, l.End = l.Start.Add(-3*length), l.End.Add(4*length)
	if nodes <= randflake.MaxNode {
		l.FirstNode, l.LastNode = l.FirstNode-3*nodes, l.LastNode+4*nodes
	}
	return l
}

func TestSecurity(t *testing.T) {
	content, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	for _, fault := range faults(page) {
		t.Error(fault)
	}
	// The negative control: each of these changes is a fault.
	for _, planted := range [][2]string{
		{"2.7%", "2.8%"}, {"| 13.6 | 10 |", "| 13.6 | 9 |"}, {"280,000", "290,000"}, {"11 minutes", "12 minutes"}, {"2^93", "2^83"},
		{"16 of 24 | truncated differential[^ankele]", "16 of 24 | truncated differential[^zhou]"}, {"## Timing", "## Timing\n\nIt has 7 stars."},
		{"## Timing", "## Timing\n\nTen years are enough."}, {"[^nist]: ", "[^ninth]: "}, {"[^iso] Where", " Where"},
	} {
		changed := strings.Replace(page, planted[0], planted[1], 1)
		if changed == page {
			t.Errorf("%q is not on the page", planted[0])
		} else if len(faults(changed)) == 0 {
			t.Errorf("no fault is found with %q in place of %q", planted[1], planted[0])
		}
	}
}

var (
	note     = regexp.MustCompile(`\[\^(\w+)\]`)
	source   = regexp.MustCompile(`^\[\^(\w+)\]: [^"]+: "[^"]+", .*\b(19|20)\d\d, <https?://\S+>\.$`) // authors, title, venue, year, link
	link     = regexp.MustCompile(`\]\([^)]*\)`)
	sentence = regexp.MustCompile(`\.(\[\^\w+\])*( |$)`)
	number   = regexp.MustCompile(`(?i)\d|\b(half|quarter|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion)s?\b`)
)

// faults returns what is wrong with the numbers of the page.
func faults(page string) []string {
	units, sources := split(page)
	found := unsourced(units, sources)
	for _, s := range said {
		cited := false
		for i, unit := range units {
			if strings.Contains(unit, "[^"+s.source+"]") && strings.Contains(unit, s.words) {
				cited, units[i] = true, strings.ReplaceAll(unit, s.words, "")
			}
		}
		if !cited {
			found = append(found, fmt.Sprintf("want %q, which source %s says", s.words, s.source))
		}
	}
	rest := strings.Join(units, "\n")
	for _, w := range computed() {
		if !strings.Contains(rest, w) {
			found = append(found, fmt.Sprintf("want %q, which is computed", w))
		}
		rest = strings.ReplaceAll(rest, w, "")
	}
	for _, name := range names {
		rest = strings.ReplaceAll(rest, name, "")
	}
	for unit := range strings.SplitSeq(note.ReplaceAllString(rest, ""), "\n") {
		if number.MatchString(unit) {
			found = append(found, "neither computed nor from a source: "+unit)
		}
	}
	return found
}

// unsourced returns which references have no complete source, and which sources are never referred to.
func unsourced(units, sources []string) (found []string) {
	used := map[string]bool{}
	for _, mark := range note.FindAllStringSubmatch(strings.Join(units, ""), -1) {
		used[mark[1]] = true
		if !slices.Contains(sources, mark[1]) {
			found = append(found, fmt.Sprintf("want authors, title, venue, year and link of source %s", mark[1]))
		}
	}
	for _, s := range sources {
		if !used[s] {
			found = append(found, fmt.Sprintf("nothing refers to source %s", s))
		}
	}
	return found
}

// split returns the sentences and rows of the page, without the targets of links, and the names of its sources.
func split(page string) (units, sources []string) {
	for block := range strings.SplitSeq(strings.NewReplacer("\n- ", "\n\n- ", "\n|", "\n\n|", "\n[^", "\n\n[^").Replace(page), "\n\n") {
		text := flat(block)
		if strings.HasPrefix(text, "[^") {
			if name := source.FindStringSubmatch(text); name != nil {
				sources = append(sources, name[1])
			}
			continue
		}
		text = link.ReplaceAllString(text, "]")
		for text != "" {
			end := len(text)
			if at := sentence.FindStringIndex(text); at != nil && !strings.HasPrefix(text, "|") {
				end = at[1]
			}
			units, text = append(units, text[:end]), text[end:]
		}
	}
	return units, sources
}

// flat returns text in one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestRepeat compares the formula with the product that it stands for.
func TestRepeat(t *testing.T) {
	const bits, n = 24, 5000
	none := 1.0
	for i := range n {
		none *= 1 - float64(i)/(1<<bits)
	}
	if got, want := repeat(n, bits), 1-none; math.Abs(got/want-1) > 0.001 {
		t.Errorf("%d random numbers of %d bits: the formula says %v, the product %v", n, bits, got, want)
	}
}

// TestWithin has the cipher open forged values and counts those that pass. Where next to none would, it forges values that open
// to a second and a node near the window, and reckons with the share of these among all values.
func TestWithin(t *testing.T) {
	random, c := seeded(t)
	const tries = 1 << 17
	for _, w := range windows {
		forge, of := func() randflake.ID { return randflake.ID(random.Uint64()) }, 1.0
		if share(w.lease) < 0.001 {
			near := around(w.lease)
			forge, of = func() randflake.ID { return opensTo(t, random, c, near) }, share(near)
		}
		passed := 0.0
		for range tries {
			if c.Inspect(forge()).Within(w.lease) == nil {
				passed++
			}
		}
		if want := share(w.lease) / of * tries; math.Abs(passed-want) > 4*math.Sqrt(want) {
			t.Errorf("%s: of %d forged values %.0f pass, want about %.0f", w.words, tries, passed, want)
		}
	}
}

// opensTo returns a random value that opens to a second and a node of l.
func opensTo(t *testing.T, random *rand.Rand, c *randflake.Cipher, l randflake.Lease) randflake.ID {
	id, err := c.Compose(randflake.Fields{
		Time:     l.Start.Add(time.Duration(random.Int64N(int64(l.End.Sub(l.Start)/time.Second))) * time.Second),
		Node:     l.FirstNode + random.Uint32N(l.LastNode-l.FirstNode+1),
		Sequence: random.Uint32N(randflake.MaxSequence + 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestWrongKeys has random keys open one ID: as many find it plausible as of one key's forged values.
func TestWrongKeys(t *testing.T) {
	random, c := seeded(t)
	const tries = 1 << 15
	l := windows[0].lease
	id, err := c.Compose(randflake.Fields{Time: l.Start})
	if err != nil {
		t.Fatal(err)
	}
	passed := 0.0
	for range tries {
		if randflake.NewCipher(key(t, random)).Inspect(id).Within(l) == nil {
			passed++
		}
	}
	if want := share(l) * tries; math.Abs(passed-want) > 4*math.Sqrt(want) {
		t.Errorf("of %d wrong keys %.0f pass, want about %.0f", tries, passed, want)
	}
}

func seeded(t *testing.T) (*rand.Rand, *randflake.Cipher) {
	random := rand.New(rand.NewPCG(1, 2))
	return random, randflake.NewCipher(key(t, random))
}

func key(t *testing.T, random *rand.Rand) randflake.Secret {
	secret, err := randflake.SecretFromBytes(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, random.Uint64()), random.Uint64()))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// significant rounds x to two digits.
func significant(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

// thousands returns x as an integer with commas.
func thousands(x float64) string {
	digits := fmt.Sprintf("%.0f", x)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// scientific returns x with one digit, as 5 x 10^18.
func scientific(x float64) string {
	digit, exponent, _ := strings.Cut(fmt.Sprintf("%.0e", x), "e+")
	if digit == "1" {
		return "10^" + exponent
	}
	return digit + " x 10^" + exponent
}

// TestPromises: the README's promises are all in the table of what holds them, and what it names is there.
func TestPromises(t *testing.T) {
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What holds each promise\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, promise := range regexp.MustCompile(`(?m)^\d\. \*\*(.*)\.\*\*`).FindAllStringSubmatch(string(readme), -1) {
		if !strings.Contains(table, "\n| "+promise[1]) {
			t.Errorf("nothing is named that holds %q", promise[1])
		}
	}
	named := regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`).FindAllStringSubmatch(table, -1)
	if len(named) == 0 {
		t.Error("no test is named")
	}
	for _, n := range named {
		if file, err := os.ReadFile(n[2]); err != nil || !strings.Contains(string(file), "\nfunc "+n[1]+"(t *testing.T) {") {
			t.Errorf("%s isn't in %s: %v", n[1], n[2], err)
		}
	}
}
