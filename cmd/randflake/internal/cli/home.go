package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

const homeUsage = `
Secret and store. Without -store both lie in your state directory, $XDG_STATE_HOME/randflake or
~/.local/state/randflake (on macOS ~/Library/Application Support/randflake, on Windows
%LocalAppData%\randflake), which the first "randflake new" makes.

  -store STORE      the lease store, which is not made at first use but by "randflake lease init"
  -secret-file F    the file with the secret; without it, the file "secret" in the store's directory
` + storeUsage + `
Variables stand in for flags: RANDFLAKE_STORE for -store and RANDFLAKE_SECRET_FILE for -secret-file,
so that no password need be on the command line. The flags come first, and with -store neither
variable counts, since a secret belongs to its store.

A secret file holds 32 hexadecimal digits, or base64 of 16 bytes, and is refused when others than
its owner and group can read it. All that mint with one secret must share one store.
`

// storeUsage says what STORE can be.
const storeUsage = `
STORE is a directory on a local disk, as DIR or file:DIR, or a server's URL:
  etcd://HOST:2379      etcds://HOST:2379
  redis://HOST:6379     rediss://HOST:6379
  postgres://USER@HOST/DATABASE
  mysql://USER@HOST/DATABASE
`

const (
	storeVariable      = "RANDFLAKE_STORE"
	secretFileVariable = "RANDFLAKE_SECRET_FILE"
)

// A home is where the secret and the lease store are.
type home struct {
	space      string // of IDs that have no secret, or nothing
	store      string // as the user named it
	place      place  // of the store
	secretFile string // or nothing, for a store that is in no directory
	ownSecret  bool   // the user did not name it: it is the one in the store's directory
	implied    bool   // the user named neither of them
}

// homeFlags defines -store and -secret-file.
func (fs *flagSet) homeFlags(h *home) {
	fs.path(&h.store, "store")
	fs.path(&h.secretFile, "secret-file")
}

// resolve fills in what the user did not name.
func (h *home) resolve(t *tool) (err error) {
	if err := h.askEnvironment(); err != nil {
		return err
	}
	h.implied = h.store == "" && h.secretFile == ""
	if h.store == "" {
		if h.store, err = stateDir(h.space); err != nil {
			return fmt.Errorf("no place for the lease store: %w: name one with -store", err)
		}
	}
	if h.place, err = t.placeOf(h.store); err != nil {
		return err
	}
	if h.secretFile == "" && h.place.dir != "" && h.space == "" {
		h.secretFile, h.ownSecret = filepath.Join(h.place.dir, "secret"), true
	}
	return nil
}

// askEnvironment takes what the command line left open from variables. A store that it names is used
// with its own secret, never with one that the variables hold ready for another store.
func (h *home) askEnvironment() error {
	if h.store != "" {
		return nil
	}
	if err := fromEnvironment(&h.store, storeVariable); err != nil || h.space != "" {
		return err
	}
	return fromEnvironment(&h.secretFile, secretFileVariable)
}

// fromEnvironment sets target to what a variable names, unless it has a value or the variable has none.
func fromEnvironment(target *string, variable string) error {
	value, set := os.LookupEnv(variable)
	if !set || *target != "" {
		return nil
	}
	if value == "" {
		return fmt.Errorf("%s is empty: want a name, or the variable not set at all", variable)
	}
	*target = value
	return nil
}

// stateDir returns the directory of Randflake IDs, with secret and store, or that of an ID space without
// a secret. They lie side by side, as each comes into being as a whole: see firstUse.
func stateDir(space string) (string, error) {
	if space == "" {
		return inStateHome("randflake")
	}
	return inStateHome(filepath.Join("randflake-snowflake", space))
}

// inStateHome returns a name where this user's programs keep what must outlive them.
func inStateHome(name string) (string, error) {
	switch runtime.GOOS {
	case "windows":
		dir, err := os.UserCacheDir() // %LocalAppData%
		return filepath.Join(dir, name), err
	case "darwin", "ios":
		dir, err := os.UserConfigDir() // ~/Library/Application Support
		return filepath.Join(dir, name), err
	}
	// The XDG base directory specification has relative names ignored.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	dir, err := os.UserHomeDir()
	return filepath.Join(dir, ".local", "state", name), err
}

// open returns the secret and the store. Where the user named neither it makes both at first use.
func (h *home) open(ctx context.Context, t *tool) (randflake.Secret, *store.Store, error) {
	secret, err := h.readSecret()
	if h.implied && errors.Is(err, fs.ErrNotExist) {
		if err := h.firstUse(t); err != nil {
			return secret, nil, err
		}
		secret, err = h.readSecret()
	}
	if err != nil {
		return secret, nil, err
	}
	space, err := h.openStore(ctx)
	return secret, space, err
}

// openKeyless returns the store of IDs without a secret. Where the user did not name it it makes it at
// first use.
func (h *home) openKeyless(ctx context.Context, t *tool) (*store.Store, error) {
	if h.implied {
		if err := h.firstUse(t); err != nil {
			return nil, err
		}
	}
	return h.openStore(ctx)
}

// unused reports whether the user named neither secret nor store, and there never were any.
func (h *home) unused() bool { return h.implied && isVacant(h.place.dir) }

// readSecret reads the secret, and makes none.
func (h *home) readSecret() (randflake.Secret, error) {
	if h.secretFile == "" {
		return randflake.Secret{}, fmt.Errorf("no secret: %s is no directory that could hold it: name its file with -secret-file or %s", h.place, secretFileVariable)
	}
	secret, err := readSecret(h.secretFile)
	if errors.Is(err, fs.ErrNotExist) && h.unused() {
		err = fmt.Errorf("secret file %s: %w: name the right one with -secret-file, or run randflake new once, which makes one and a store", h.secretFile, fs.ErrNotExist)
	}
	return secret, err
}

// openStore opens the store, and makes none.
func (h *home) openStore(ctx context.Context) (*store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	space, err := h.place.Open(ctx, h.place.name())
	if errors.Is(err, store.ErrNoStore) && h.unused() {
		return nil, fmt.Errorf("no lease store in %s: name one with -store, or run randflake new once, which makes one and a secret", h.place)
	}
	if errors.Is(err, store.ErrNoStore) {
		// One that is made now can't know what a lost one granted for the secret.
		return nil, fmt.Errorf("no lease store in %s: to make one, whose first lease starts after a safety delay, run: randflake lease init -store %s", h.place, h.place)
	}
	return space, err
}

// firstUse makes the state directory, unless there is something in it already. Of many processes
// that start at once one wins: each makes a whole directory under another name, and no rename goes
// over a directory with something in it. So there is never a secret without its store, which
// could not be told from one whose store was lost.
func (h *home) firstUse(t *tool) error {
	if !isVacant(h.place.dir) {
		return nil
	}
	won, err := h.moveIn()
	switch {
	case err != nil:
		return fmt.Errorf("state directory %s: %w", h.place, reason(err))
	case won && h.space == "":
		fmt.Fprintf(t.stderr, "randflake: made a new secret and a lease store in %s: keep the secret, only it opens its IDs\n", h.place.dir)
	case won:
		fmt.Fprintf(t.stderr, "randflake: made a lease store for %s IDs in %s: keep it, it sees to it that they do not repeat\n", h.space, h.place.dir)
	}
	return nil
}

// moveIn makes a directory with all that belongs in it, and reports false if somebody else was first.
func (h *home) moveIn() (won bool, err error) {
	if target, err := filepath.EvalSymlinks(h.place.dir); err == nil {
		h.place.dir = target // a rename would hit the link
	}
	parent := filepath.Dir(h.place.dir)
	if err := makeDirs(parent); err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp(parent, ".randflake-*.tmp")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(temp)
	if err := h.furnish(temp); err != nil {
		return false, err
	}
	if won, err = occupy(temp, h.place.dir); err != nil {
		return false, err
	}
	return won, syncDir(parent)
}

// furnish makes a store in an empty directory, and a secret where there is to be one. The secret is
// new, so the store's leases may start at once. Without a secret they may, since what this user mints
// without naming another store is the ID space: whoever removes the directory begins it anew.
func (h *home) furnish(dir string) error {
	options := []store.Option{store.ForNewSecret()}
	if h.space == "" {
		secret := randflake.NewSecret()
		if err := writeSecretFile(filepath.Join(dir, "secret"), secret); err != nil {
			return err
		}
		options = append(options, store.ForSecret(secret.CheckValue()))
	}
	space, err := filestore.Create(dir, options...)
	if err != nil {
		return err
	}
	return space.Close()
}

// occupy renames temp to dir, and reports false if somebody else was first.
func occupy(temp, dir string) (won bool, err error) {
	if os.Rename(temp, dir) == nil {
		return true, nil
	}
	rmdirErr := syscall.Rmdir(dir) // in the way if it is empty, and only then removed
	err = os.Rename(temp, dir)
	switch {
	case err == nil:
		return true, nil
	case !isVacant(dir):
		return false, nil
	case errors.Is(err, fs.ErrExist): // it is where something is mounted, or may not be removed
		return false, fmt.Errorf("can't replace the empty directory: %w: to fill it run: randflake lease init -new-secret", rmdirErr)
	}
	return false, err
}

// isVacant reports whether there is no dir, or one with nothing in it.
func isVacant(dir string) bool {
	entries, err := os.ReadDir(dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// makeDirs is os.MkdirAll with a sync of each directory that it made.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDirs(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}
