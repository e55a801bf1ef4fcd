package randflake

import (
	"fmt"
	"os"
	"sync"
)

// earlier are the leases of New in this process, while RANDFLAKE_DEBUG is set.
var earlier struct {
	sync.Mutex
	leases map[Secret][]Lease
}

// checkEarlier finds the fault of programs that make a generator for each request: it begins again,
// and repeats the IDs of the one before. If RANDFLAKE_DEBUG is set, it refuses a lease that shares
// a node and a second with an earlier one.
func checkEarlier(secret Secret, l Lease) error {
	if os.Getenv("RANDFLAKE_DEBUG") == "" {
		return nil
	}
	earlier.Lock()
	defer earlier.Unlock()
	for _, e := range earlier.leases[secret] {
		nodes := e.FirstNode <= l.LastNode && l.FirstNode <= e.LastNode
		if nodes && e.Start.Before(l.End) && l.Start.Before(e.End) {
			return fmt.Errorf("%w: this process has made a generator with a lease of the same nodes and seconds: want one generator for the whole process",
				ErrInvalidLease)
		}
	}
	if earlier.leases == nil {
		earlier.leases = map[Secret][]Lease{}
	}
	earlier.leases[secret] = append(earlier.leases[secret], l)
	return nil
}
