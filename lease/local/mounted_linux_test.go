package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/internal/localfile/localfiletest"
	"golang.org/x/sys/unix"
)

// mount mounts something for the time of a test.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Skip("can't mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
}

// kubernetes lays a secret out as Kubernetes does: the file behind two symbolic links.
func kubernetes(t *testing.T, dir, text string, mode os.FileMode) (file string) {
	t.Helper()
	const version = "..2026_11_22_12_00_00.123456789"
	require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, version, "secret"), []byte(text), mode))
	require.NoError(t, os.Chmod(filepath.Join(dir, version, "secret"), mode))
	for target, name := range map[string]string{version: "..data", "..data/secret": "secret"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	return filepath.Join(dir, "secret")
}

// TestReadMountedSecret: a secret in a container may be open to all in it, and what only looks like
// one may not.
func TestReadMountedSecret(t *testing.T) {
	want := randflake.NewSecret()
	for _, c := range []struct {
		name     string
		mode     os.FileMode
		memory   bool
		readOnly bool
		owner    int
		accepted bool
	}{
		{"as Kubernetes mounts it", 0o644, true, true, 0, true},
		{"as Docker mounts it", 0o444, true, true, 0, true},
		{"with defaultMode 0400", 0o400, true, true, 0, true},
		{"memory that can be written", 0o644, true, false, 0, false},
		{"a disk, mounted read-only", 0o644, false, true, 0, false},
		{"of another user", 0o644, true, true, 65534, false},
		{"which the group may write", 0o664, true, true, 0, false},
		{"which all may write", 0o666, true, true, 0, false},
		{"which others may write", 0o646, true, true, 0, false},
		{"which others may execute", 0o645, true, true, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, view := t.TempDir(), t.TempDir()
			if c.memory {
				mount(t, "tmpfs", dir, "tmpfs", 0, "")
			}
			file := kubernetes(t, dir, want.Hex()+"\n", c.mode)
			if err := os.Chown(file, c.owner, c.owner); err != nil {
				t.Skip(err)
			}
			// As in a container: the mount that it sees is read-only, and another one is not.
			mount(t, dir, view, "", unix.MS_BIND, "")
			if c.readOnly {
				mount(t, "", view, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
			}
			got, err := ReadSecret(filepath.Join(view, "secret"))
			if c.accepted && (err != nil || got != want) {
				t.Error(err)
			}
			if !c.accepted && (err == nil || !strings.Contains(err.Error(), "lets others")) {
				t.Errorf("%v, want one that says who may read it", err)
			}
		})
	}
}

// TestKeepWarns: a new secret on what ends with the machine or the container is logged as a warning.
func TestKeepWarns(t *testing.T) {
	layers := t.TempDir()
	for _, dir := range []string{"lower", "upper", "work"} {
		require.NoError(t, os.Mkdir(filepath.Join(layers, dir), 0o700))
	}
	for kind, data := range map[string]string{
		"tmpfs":   "",
		"overlay": strings.ReplaceAll("lowerdir=T/lower,upperdir=T/upper,workdir=T/work", "T", layers),
	} {
		t.Run(kind, func(t *testing.T) {
			dir, log := isolate(t), logs(t)
			mount(t, kind, filepath.Dir(filepath.Dir(dir)), kind, 0, data)
			makeOne(t)
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "mount a volume") {
				t.Error(log)
			}
		})
	}
	t.Run("disk", func(t *testing.T) {
		dir, log := isolate(t), logs(t)
		var at unix.Statfs_t
		require.NoError(t, unix.Statfs(filepath.Dir(filepath.Dir(dir)), &at))
		disks := []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC}
		if !slices.Contains(disks, int64(at.Type)) {
			t.Skipf("the temporary directory is on no disk: %#x", at.Type)
		}
		makeOne(t)
		require.Contains(t, log.String(), "level=INFO ", "log")
	})
}

// TestReadPipe: a pipe belongs to the process, whatever its mode.
func TestReadPipe(t *testing.T) {
	file, want := filepath.Join(t.TempDir(), "pipe"), randflake.NewSecret()
	require.NoError(t, errors.Join(unix.Mkfifo(file, 0o600), os.Chmod(file, 0o666)))
	go os.WriteFile(file, []byte(want.Hex()), 0)
	require.Gives(t, want, "ReadSecret")(ReadSecret(file))
}

// TestReadFails: what can't be read is not taken for a secret that is none.
func TestReadFails(t *testing.T) {
	_, err := ReadSecret("/proc/self/mem") // nothing is mapped at its beginning
	wantErr(t, "the process's memory", err, unix.EIO, "/proc/self/mem")
}

// TestCreateOnAMountPoint: it can't be replaced, and the error says what to do.
func TestCreateOnAMountPoint(t *testing.T) {
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "")
	made, err := Create(dir)
	wantErr(t, "a mount point", err, unix.EBUSY, "mount the directory above")
	require.That(t, !made, "it was made")
}

// TestBrokenDisk: what can't be synced isn't made, and nothing is left behind.
func TestBrokenDisk(t *testing.T) {
	for name, do := range map[string]func(dir string) error{
		"WriteSecret":   func(dir string) error { return WriteSecret(filepath.Join(dir, "s"), randflake.NewSecret()) },
		"without links": func(dir string) error { return publishWithoutLinks(filepath.Join(dir, "s"), "one") },
		"Create":        func(dir string) error { return require.Err(Create(filepath.Join(dir, "shop"))) },
		"CreateSpace":   func(dir string) error { return require.Err(createSpace(filepath.Join(dir, "shop"))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			localfiletest.Fail(t, unix.SYS_FSYNC)
			err := do(dir)
			left, readErr := os.ReadDir(dir)
			require.That(t, errors.Is(err, unix.EIO) && len(left) == 0 && readErr == nil,
				"%v, left behind: %v, %v", err, left, readErr)
		})
	}
}

// TestUnknownDisk: where nobody can tell which file system it is, nothing is made, and what is there is not used.
func TestUnknownDisk(t *testing.T) {
	dir := isolate(t)
	logs(t)
	makeOne(t)
	t.Run("calls", func(t *testing.T) {
		localfiletest.Fail(t, unix.SYS_STATFS)
		if err := unix.Statfs(dir, new(unix.Statfs_t)); err == nil {
			t.Skip("another system call tells it here")
		}
		keeper, err := Keep(t.Context(), "shop", quiet())
		wantErr(t, "Keep", err, unix.EIO, dir)
		require.That(t, keeper == nil, "there is a keeper")
		made, err := Create(dir + "-2")
		wantErr(t, "Create", err, unix.EIO, dir)
		left, err := os.ReadDir(filepath.Dir(dir))
		require.That(t, !made && err == nil && len(left) == 1, "%v, and left behind: %v, %v", made, left, err)
	})
}

// TestCreateOnce: Create writes nothing where something is, not even beside it.
func TestCreateOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if made, err := Create(dir); !made || err != nil {
		t.Fatal(made, err)
	}
	localfiletest.Fail(t, unix.SYS_FSYNC)
	made, err := Create(dir)
	require.That(t, !made && err == nil, "%v, %v", made, err)
}

// TestForbidden: a directory that the user may not open can't be synced, so nothing new in it is
// durable, and in one that the user may not write nothing is made.
func TestForbidden(t *testing.T) {
	const user = 1001
	for name, do := range map[string]func(dir string) error{
		"WriteSecret":               func(dir string) error { return WriteSecret(filepath.Join(dir, "s"), randflake.NewSecret()) },
		"Create":                    func(dir string) error { return require.Err(Create(filepath.Join(dir, "shop"))) },
		"Create, and what is above": func(dir string) error { return require.Err(Create(filepath.Join(dir, "a", "b", "shop"))) },
	} {
		for _, mode := range []os.FileMode{0o300, 0o500} {
			dir := filepath.Join(localfiletest.TempDir(t), "dir")
			require.NoError(t, os.Mkdir(dir, mode))
			t.Run(fmt.Sprintf("%s, %04o", name, mode), func(t *testing.T) {
				if os.Geteuid() == 0 {
					require.NoError(t, os.Chown(dir, user, user))
					localfiletest.Become(t, user, user)
				}
				wantErr(t, name, do(dir), fs.ErrPermission, "permission")
			})
		}
	}
}
