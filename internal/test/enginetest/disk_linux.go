package enginetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// RunDisk tests an engine on a small disk that is full, and then read-only, with its errors for
// that. prepared returns an engine of which the entry a is 1.
func RunDisk(t *testing.T, prepared func(disk string) lease.Engine, full, readOnly error) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	e := prepared(disk)
	long := strings.Repeat("b", lease.MaxValue)
	refused := func(want error, kept string) {
		_, err := e.Swap(t.Context(), nil, append(leasetest.Entry("a", "2"), leasetest.Entry("b", long)...))
		require.That(t, errors.Is(err, want) && errors.Is(err, lease.ErrStore) && strings.Contains(err.Error(), disk),
			"error %v, want %v, that nothing was changed, and where", err, want)
		value, _ := leasetest.Get(t, e, "a")
		require.That(t, value == kept, "%v: found %q, want %s", want, value, kept)
	}
	filler := filepath.Join(disk, "filler")
	os.WriteFile(filler, make([]byte, 70<<10), 0o600) // which may fail, and leaves no room for another swap
	refused(full, "1")
	require.NoError(t, os.Remove(filler))
	leasetest.Put(t, e, "a", "3")
	require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	refused(readOnly, "3")
}
