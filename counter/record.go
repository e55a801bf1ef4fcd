package counter

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/randflake/randflake/store"
)

// A record is the stored state of a counter, kept forever. The numbers are Start + i x Stride up to End, for i = 0, 1,
// ...; i is the number's position.
type record struct {
	Start, Stride, End int64
	Rate               int64 // numbers a second at most, or 0 for no bound

	Position uint64 // of the first number that no run has
	Budget   int64  // how many may be taken at Second, if there is a Rate; less than 0 after a jump
	Taken    uint64 // numbers in runs
	Returned uint64 // numbers of runs that were given back
	Skipped  uint64 // numbers that jumps and people passed over

	// SkipFrom up to SkipTo are the newest positions that were skipped. While Position is SkipTo, no number after them is
	// in use.
	SkipFrom, SkipTo uint64

	Version uint64 // counts the changes
	Token   token  // of the newest change
	Run     uint64 // how many numbers the newest change took

	// Born is the version with which the numbers began anew by an operator's word, or 0. Deleted says that the counter is
	// no more: what is left of it keeps programs from creating it anew.
	Born    uint64
	Deleted bool

	// Generation is the space's at the time of this change. If the space has another one now, data was lost since.
	Generation string

	Second int64 // of the newest change, in Unix seconds; the Second of the item
}

// A token identifies a change, so that its author can recognize it.
type token [8]byte

// size returns how many numbers the counter has in all.
func (r *record) size() uint64 { return uint64(r.End-r.Start)/uint64(r.Stride) + 1 }

// left returns how many numbers are not taken yet.
func (r *record) left() uint64 { return r.size() - r.Position }

// number returns the number at a position below size.
func (r *record) number(position uint64) int64 { return r.Start + int64(position)*r.Stride }

// position returns the position of the first number that is not less than n, or size if there is no such number.
func (r *record) position(n int64) uint64 {
	switch {
	case n <= r.Start:
		return 0
	case n > r.End:
		return r.size()
	}
	up := uint64(n-r.Start) + uint64(r.Stride) - 1
	return min(up/uint64(r.Stride), r.size())
}

// A life is what positions of a counter belong to: in another one they may be other numbers, or be taken by others.
type life struct {
	generation string
	born       uint64
}

func (r *record) life() life { return life{r.Generation, r.Born} }

const maxRate = 1e15

const prefix = "c/"

// item returns r as an item of the space: its fields in order, with blanks between.
func (r *record) item(name string) store.Item {
	b := make([]byte, 0, 240)
	for _, n := range []int64{r.Start, r.Stride, r.End, r.Rate, r.Budget} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	deleted := uint64(0)
	if r.Deleted {
		deleted = 1
	}
	for _, n := range []uint64{r.Position, r.Taken, r.Returned, r.Skipped, r.SkipFrom, r.SkipTo, r.Version, r.Run, r.Born, deleted} {
		b = append(strconv.AppendUint(b, n, 10), ' ')
	}
	b = append(hex.AppendEncode(b, r.Token[:]), ' ')
	return store.Item{Name: prefix + name, Second: r.Second, Body: append(b, r.Generation...)}
}

// decode reads what item returned, or returns nil for an item without a body.
func decode(item store.Item) (*record, error) {
	if item.Body == nil {
		return nil, nil
	}
	var err error
	words := strings.Split(string(item.Body), " ")
	signed := func(i int) int64 {
		n, wrong := strconv.ParseInt(words[i], 10, 64)
		err = cmp.Or(err, wrong)
		return n
	}
	unsigned := func(i int) uint64 {
		n, wrong := strconv.ParseUint(words[i], 10, 64)
		err = cmp.Or(err, wrong)
		return n
	}
	if len(words) == 17 && len(words[15]) == 2*len(token{}) {
		r := &record{Start: signed(0), Stride: signed(1), End: signed(2), Rate: signed(3), Budget: signed(4),
			Position: unsigned(5), Taken: unsigned(6), Returned: unsigned(7), Skipped: unsigned(8), SkipFrom: unsigned(9), SkipTo: unsigned(10),
			Version: unsigned(11), Run: unsigned(12), Born: unsigned(13), Deleted: words[14] == "1", Generation: strings.Clone(words[16]), Second: item.Second}
		_, wrong := hex.Decode(r.Token[:], []byte(words[15]))
		if cmp.Or(err, wrong, r.check()) == nil && (r.Deleted || words[14] == "0") {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: counter %s is %.300q: nothing was changed", store.ErrCorrupt, item.Name[len(prefix):], item.Body)
}

// check returns an error unless the books balance.
func (r *record) check() error {
	if err := checkShape(r.Start, r.Stride, r.End, r.Rate); err != nil {
		return err
	}
	if r.SkipFrom > r.SkipTo || r.SkipTo > r.size() || r.SkipTo-r.SkipFrom > r.Skipped {
		return fmt.Errorf("counter: skipped numbers do not add up")
	}
	if r.Position > r.size() || r.Position != r.Taken-r.Returned+r.Skipped || r.Run > r.Position || r.Version == 0 || r.Born > r.Version || r.Generation == "" {
		return fmt.Errorf("counter: books do not balance")
	}
	return nil
}

// checkShape returns an error that wraps ErrInvalidOption if the parameters are invalid.
func checkShape(start, stride, end, rate int64) error {
	switch {
	case start < 0 || end < start:
		return fmt.Errorf("%w: start %d, end %d: want 0 <= start <= end", ErrInvalidOption, start, end)
	case stride < 1:
		return fmt.Errorf("%w: stride %d: want 1 or more", ErrInvalidOption, stride)
	case rate < 0 || rate > maxRate:
		return fmt.Errorf("%w: rate %d: want 0 to %d numbers a second", ErrInvalidOption, rate, int64(maxRate))
	}
	return nil
}

// counterName has room for a word, a UUID and a day. With the longest name of a space it is an entry of store.MaxName.
var counterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]{0,55}[a-z0-9])?$`)

func checkName(name string) error {
	if !counterName.MatchString(name) {
		return fmt.Errorf("%w: %q: want up to 57 of a-z, 0-9, /, -, _ and ., a letter or digit first and last", ErrInvalidName, name)
	}
	return nil
}
