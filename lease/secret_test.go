package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var shownKey = []byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}

func shownSecret(t *testing.T) randflake.Secret {
	t.Helper()
	secret, err := randflake.SecretFromBytes(shownKey)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// A hanging store is one whose calls do not return.
type hanging struct{ lease.Source }

func (hanging) Acquire(ctx context.Context, _ lease.Request) (lease.Record, error) {
	leaktest.Ready()
	<-ctx.Done()
	return lease.Record{}, ctx.Err()
}

// TestDumpShowsNoSecret: what SIGQUIT prints while Keep waits for a store shows nothing of the secret.
func TestDumpShowsNoSecret(t *testing.T) {
	if leaktest.Dumping() {
		lease.Keep(t.Context(), hanging{storetest.NewLeases(store.DefaultLimits(), nil)}, shownSecret(t))
	}
	for _, traceback := range []string{"all", "system"} {
		dump := leaktest.Dump(t, traceback)
		if !strings.Contains(dump, "SIGQUIT") || !strings.Contains(dump, "lease.Keep(") {
			t.Errorf("not the dump that was wanted: %s", dump)
		}
		if part := leaktest.Find(dump, shownKey); part != "" {
			t.Errorf("GOTRACEBACK=%s shows %s: %s", traceback, part, dump)
		}
	}
}

// TestKeeperShowsNoSecret: nor do verbs, encoders and printers that are given a keeper.
func TestKeeperShowsNoSecret(t *testing.T) {
	k, err := lease.Keep(t.Context(), storetest.NewLeases(store.DefaultLimits(), nil), shownSecret(t), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for name, sink := range leaktest.Sinks[*lease.Keeper[*randflake.Generator]]() {
		output := leaktest.Output(sink, k)
		if part := leaktest.Find(output, shownKey); part != "" {
			t.Errorf("%s shows %s: %.400q", name, part, output)
		}
	}
}

// TestKeepRefusesUnsetSecret: before anything is acquired.
func TestKeepRefusesUnsetSecret(t *testing.T) {
	memory := storetest.NewLeases(store.DefaultLimits(), nil)
	k, err := lease.Keep(t.Context(), memory, randflake.Secret{})
	if k != nil || !errors.Is(err, randflake.ErrInvalidSecret) {
		t.Errorf("%v, %v, want ErrInvalidSecret", k, err)
	}
	list, err := memory.List(t.Context())
	if len(list) > 0 || err != nil {
		t.Errorf("leases %+v, %v", list, err)
	}
}
