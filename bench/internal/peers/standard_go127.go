//go:build go1.27

package peers

import "uuid"

var openStandardV4, openStandardV7 = openStandard(uuid.NewV4), openStandard(uuid.NewV7)

func openStandard(next func() uuid.UUID) func() (Maker, error) {
	return each(func() (high, low uint64, err error) {
		id := next()
		high, low = ends(id[:])
		return high, low, nil
	})
}
