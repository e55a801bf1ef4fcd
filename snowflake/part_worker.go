package snowflake

import "fmt"

// A pin fixes the value of a static part.
type pin struct {
	name  string
	value uint64
}

// static returns the bits that all IDs of a worker have in common, in their places, and the number of possible workers.
// The static parts that are not pinned, taken together from high to low, hold the worker number: with 5 bits each for
// datacenter and worker, number 33 is worker 1 in datacenter 1.
//
// If the layout can't hold a pin, the error wraps ErrInvalidOption. If it can't hold the worker number, the error wraps
// ErrInvalidLease, since the number comes from a lease.
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

// checkStatic returns an error that wraps kind if values names a static part that the layout doesn't have, or if a part
// can't hold its value.
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
