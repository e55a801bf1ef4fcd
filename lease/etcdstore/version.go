package etcdstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The first release that is good enough: those before it may lose what they acknowledged when
// the only member of a cluster crashes (etcd issue 14370).
var oldestVersion = [3]int{3, 5, 5}

// stragglers is how long members may take to tell their version once one has.
const stragglers = 500 * time.Millisecond

// checkVersions refuses a cluster with a member that is too old. A member that does not answer
// is passed over as long as another one does.
func (s *Store) checkVersions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	hurry := sync.OnceFunc(func() { time.AfterFunc(stragglers, cancel) })
	endpoints := s.client.Endpoints()
	tooOld, silent := make([]error, len(endpoints)), make([]error, len(endpoints))
	var wg sync.WaitGroup
	for i, endpoint := range endpoints {
		wg.Go(func() {
			status, err := s.client.Status(ctx, endpoint)
			if err != nil {
				silent[i] = err
				return
			}
			hurry()
			tooOld[i] = checkVersion(endpoint, status.Version)
		})
	}
	wg.Wait()
	if err := cmp.Or(tooOld...); err != nil {
		return err
	}
	if slices.Contains(silent, nil) {
		return nil
	}
	return s.failed("no member tells its version", silent[0])
}

func checkVersion(endpoint, version string) error {
	var v [3]int
	_, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	if err != nil || slices.Compare(v[:], oldestVersion[:]) < 0 {
		return fmt.Errorf("etcdstore: %s runs etcd %q, and releases before %d.%d.%d may lose what they acknowledged: upgrade it",
			endpoint, version, oldestVersion[0], oldestVersion[1], oldestVersion[2])
	}
	return nil
}
