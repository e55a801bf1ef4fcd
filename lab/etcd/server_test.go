package etcdtest_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/etcd"
)

// TestSameData: what happens to every etcd forgets nothing, and does not look as if it did.
func TestSameData(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 1, nil)
	client := clientOf(t, cluster)
	e := newEngine(t, client, "")
	put(t, e, "x", "1")
	for name, do := range map[string]func(ctx context.Context, revision int64) error{
		"compaction": func(ctx context.Context, revision int64) error {
			_, err := client.Compact(ctx, revision, clientv3.WithCompactPhysical())
			return err
		},
		"defragmentation": func(ctx context.Context, _ int64) error {
			_, err := client.Defragment(ctx, cluster.Members[0].Client)
			return err
		},
		"restart": func(context.Context, int64) error {
			return errors.Join(cluster.Stop(), cluster.Start())
		},
	} {
		value, before := read(t, e, "x")
		err := do(t.Context(), int64(before.Position))
		require.Must(t, err == nil, "%s: %v", name, err)
		got, after := read(t, e, "x")
		require.That(t, got == value && after.Lineage == before.Lineage && after.Position >= before.Position,
			"%s: %q, %+v; before it %q, %+v", name, got, after, value, before)
		answer, err := e.Swap(t.Context(), entries("x", value), entries("x", value+"1"))
		require.That(t, err == nil && answer.Swapped && answer.Position > after.Position,
			"%s: Swap after it: %+v, %v", name, answer, err)
	}
}

// TestNoMajority: a minority answers nothing, neither old nor new.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3, nil)
	put(t, newEngine(t, clientOf(t, cluster), ""), "x", "1")
	cluster.Members[0].Stop()
	client := clientOf(t, cluster)
	e := newEngine(t, client, "") // one member does not answer
	value, _ := read(t, e, "x")
	require.That(t, value == "1", "found %q, want 1", value)
	cluster.Members[1].Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	answer, err := e.Read(ctx, "x")
	require.That(t, err != nil, "Read: %+v", answer)
	answer, err = e.Swap(ctx, entries("x", "1"), entries("x", "2"))
	require.That(t, err != nil, "Swap: %+v", answer)
	must(t, cluster.Start())
	read(t, e, "x")
	put(t, e, "x", "3")
}

// TestRestoredSnapshot: a snapshot that is restored shows by the lineage, unless the cluster is to
// have the id that it had; then by the position.
func TestRestoredSnapshot(t *testing.T) {
	t.Parallel()
	old := startCluster(t, 3, nil)
	e := newEngine(t, clientOf(t, old), "")
	put(t, e, "x", "1")
	path := filepath.Join(t.TempDir(), "snapshot")
	must(t, old.Save(path))
	newest := put(t, e, "x", "2")
	old.Stop()
	for name, tt := range map[string]struct {
		cluster *etcdtest.Cluster
		token   string
		shows   bool
	}{
		"another cluster": {newCluster(t, 1, nil), etcdtest.UsualToken, true},
		"another token":   {old, "another", true},
		"the same id":     {old, etcdtest.UsualToken, false},
	} {
		err := tt.cluster.RestoreSaved(path, tt.token)
		require.Must(t, err == nil, "%s: %v", name, err)
		value, after := read(t, newEngine(t, clientOf(t, tt.cluster), ""), "x")
		require.That(t, value == "1" && (after.Lineage != newest.Lineage) == tt.shows && after.Position < newest.Position,
			"%s: %q, %+v; before it %+v", name, value, after, newest)
		tt.cluster.Stop()
	}
}
