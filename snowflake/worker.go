package snowflake

import (
	"fmt"
	"maps"
	"slices"
)

// A pin fixes the value of a static part.
type pin struct {
	name  string
	value uint64
}

// staticBits returns the bits that all IDs of a worker have in common, in their places, and the number of
// possible workers. The static parts that are not pinned, taken together from high to low, hold the worker
// number: with 5 bits each for datacenter and worker, number 33 is worker 1 in datacenter 1.
//
// If the layout can't hold a pin, the error wraps randflake.ErrInvalidOption. If it can't hold the worker
// number, the error wraps randflake.ErrInvalidLease, since the number comes from a lease.
func (l *Layout) staticBits(worker uint64, pinned []pin) (placed, workers uint64, err error) {
	pins, err := l.pinsOf(pinned)
	if err != nil {
		return 0, 0, err
	}
	workers = 1
	rest := worker
	for _, s := range slices.Backward(l.statics) {
		value, ok := pins[s.name]
		if !ok {
			value = rest & s.max()
			rest >>= s.bits
			workers <<= s.bits
		}
		placed |= value << s.shift
	}
	if rest != 0 {
		return 0, 0, fmt.Errorf("%w: worker %d: want at most %d, "+
			"which the static parts of layout %s that are not pinned can hold",
			errInvalidLease, worker, workers-1, l.name)
	}
	return placed, workers, nil
}

// pinsOf returns the pinned values by the names of their parts.
func (l *Layout) pinsOf(pinned []pin) (map[string]uint64, error) {
	pins := make(map[string]uint64, len(pinned))
	for _, p := range pinned {
		if _, twice := pins[p.name]; twice {
			return nil, fmt.Errorf("%w: pinned part %s: given twice: want one value", errInvalidOption, p.name)
		}
		pins[p.name] = p.value
	}
	return pins, l.checkStatic(pins, errInvalidOption)
}

// checkStatic returns an error that wraps kind if values has a static part that the layout doesn't
// have, or a value that a part can't hold.
func (l *Layout) checkStatic(values map[string]uint64, kind error) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(l.statics, func(s static) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("%w: static part %q: want one of layout %s", kind, name, l)
		}
		if most := l.statics[i].max(); values[name] > most {
			return fmt.Errorf("%w: %s %d: want at most %d", kind, name, values[name], most)
		}
	}
	return nil
}
