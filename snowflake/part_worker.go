package snowflake

import "fmt"

// A pin fixes the value of a static part.
type pin struct {
	name  string
	value uint64
}

// static returns the bits that all IDs of a worker have in common, in their places, and the number of workers that
// there can be. The static parts that are not pinned, taken together from high to low, hold the worker number: for
// datacenter 5 and worker 5 bits, number 33 is worker 1 in datacenter 1.
//
// Pins that the layout can't hold are errors that wrap ErrInvalidOption; a worker number that it can't hold is one that
// wraps ErrInvalidLease, since leases bring it.
func (l *Layout) static(worker uint64, pinned []pin) (bits, workers uint64, err error) {
	pins := make(map[string]uint64, len(pinned))
	for _, p := range pinned {
		if _, twice := pins[p.name]; twice {
			return 0, 0, fmt.Errorf("%w: pinned part %s: given twice: want one value", ErrInvalidOption, p.name)
		}
		pins[p.name] = p.value
	}
	if err := l.checkStatic(pins, ErrInvalidOption); err != nil {
		return 0, 0, err
	}
	workers = 1
	rest := worker
	for i := len(l.statics) - 1; i >= 0; i-- {
		s := l.statics[i]
		value, ok := pins[s.name]
		if !ok {
			value = rest & s.max()
			rest >>= s.bits
			workers <<= s.bits
		}
		bits |= value << s.shift
	}
	if rest != 0 {
		return 0, 0, fmt.Errorf("%w: worker %d: want at most %d, which the static parts of layout %s that are not pinned can hold", ErrInvalidLease, worker, workers-1, l.name)
	}
	return bits, workers, nil
}

// checkStatic returns an error that wraps kind when the layout hasn't a static part that is named in values, or when
// one can't hold its value.
func (l *Layout) checkStatic(values map[string]uint64, kind error) error {
	known := 0
	for _, s := range l.statics {
		value, ok := values[s.name]
		if !ok {
			continue
		}
		known++
		if value > s.max() {
			return fmt.Errorf("%w: %s %d: want at most %d", kind, s.name, value, s.max())
		}
	}
	if known == len(values) {
		return nil
	}
	return fmt.Errorf("%w: static parts %v: want those of layout %s", kind, values, l)
}
