package randflake

import (
	"fmt"
	"os"
	"sync"
)

// earlier are the leases of New in this process, while RANDFLAKE_DEBUG is set.
var earlier = struct {
	sync.Mutex
	leases map[Secret][]Lease
}{leases: map[Secret][]Lease{}}

// checkEarlier finds a fault of programs: if they make a generator for each request, each begins
// anew and repeats the IDs of the one before. If RANDFLAKE_DEBUG is set, checkEarlier refuses a
// lease that shares a node and a second with an earlier one under the same secret.
func checkEarlier(secret Secret, l Lease) error {
	if os.Getenv("RANDFLAKE_DEBUG") == "" {
		return nil
	}
	earlier.Lock()
	defer earlier.Unlock()
	for _, e := range earlier.leases[secret] {
		sharesNode := e.FirstNode <= l.LastNode && l.FirstNode <= e.LastNode
		sharesSecond := e.Start.Before(l.End) && l.Start.Before(e.End)
		if sharesNode && sharesSecond {
			return fmt.Errorf("%w: this process has made a generator with a lease of the same nodes and seconds: want one generator for the whole process",
				ErrInvalidLease)
		}
	}
	earlier.leases[secret] = append(earlier.leases[secret], l)
	return nil
}
