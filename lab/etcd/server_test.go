package etcdtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
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
		if err := do(t.Context(), int64(before.Position)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, after := read(t, e, "x")
		if got != value || after.Lineage != before.Lineage || after.Position < before.Position {
			t.Errorf("%s: %q, %+v; before it %q, %+v", name, got, after, value, before)
		}
		answer, err := e.Swap(t.Context(), entries("x", value), entries("x", value+"1"))
		if err != nil || !answer.Swapped || answer.Position <= after.Position {
			t.Errorf("%s: Swap after it: %+v, %v", name, answer, err)
		}
	}
}

// TestNeverExpires: no key has an etcd lease.
func TestNeverExpires(t *testing.T) {
	client, prefix := clientOf(t, shared), newPrefix()
	put(t, newEngine(t, client, prefix), "x", "1")
	resp, err := client.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 1 || resp.Kvs[0].Lease != 0 {
		t.Errorf("%v, %v; want one key without a lease", resp.Kvs, err)
	}
}

// TestNoSpace: when etcd's space quota is used up, swaps fail and nothing is lost.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 1, nil)
	client := clientOf(t, cluster)
	e := newEngine(t, client, "")
	put(t, e, "x", "1")
	status, err := client.Status(t.Context(), cluster.Members[0].Client)
	if err != nil {
		t.Fatal(err)
	}
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: pb.AlarmType_NOSPACE}
	maintenance := pb.NewMaintenanceClient(client.ActiveConnection())
	if _, err := maintenance.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	_, err = e.Swap(t.Context(), entries("x", "1"), entries("x", "2"))
	wantError(t, "Swap", err, rpctypes.ErrNoSpace)
	wantValue(t, e, "x", "1")
	alarm.Action = pb.AlarmRequest_DEACTIVATE
	if _, err := maintenance.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	put(t, e, "x", "3")
}

// TestTooLarge: what etcd does not take is refused by an error.
func TestTooLarge(t *testing.T) {
	e := newEngine(t, clientOf(t, shared), newPrefix())
	var many []store.Entry
	for i := range store.MaxEntries {
		many = append(many, store.Entry{Name: "x" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Value: make([]byte, store.MaxValue)})
	}
	if answer, err := e.Swap(t.Context(), nil, many[:16]); err != nil || !answer.Swapped {
		t.Errorf("Swap of a megabyte: %v, %v", answer.Swapped, err)
	}
	if _, err := e.Swap(t.Context(), nil, many); err == nil {
		t.Error("Swap of four megabytes: no error")
	}
	answer, err := e.Read(t.Context(), nil, store.Page{From: "x", To: "y", Limit: store.MaxPage})
	if err != nil || len(answer.Page) != 16 {
		t.Errorf("%d entries, %v; want 16", len(answer.Page), err)
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
	wantValue(t, e, "x", "1")
	cluster.Members[1].Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if answer, err := e.Read(ctx, []string{"x"}, store.Page{}); err == nil {
		t.Errorf("Read: %+v", answer)
	}
	if answer, err := e.Swap(ctx, entries("x", "1"), entries("x", "2")); err == nil {
		t.Errorf("Swap: %+v", answer)
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	read(t, e, "x")
	put(t, e, "x", "3")
}

// TestOlderCopy: the data directory is replaced by an older copy.
func TestOlderCopy(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 1, nil)
	e := newEngine(t, clientOf(t, cluster), "")
	put(t, e, "x", "1")
	backup := t.TempDir()
	if err := cluster.Copy(backup); err != nil {
		t.Fatal(err)
	}
	read(t, e, "x")
	newest := put(t, e, "x", "2")
	if err := cluster.Restore(backup); err != nil {
		t.Fatal(err)
	}
	value, after := read(t, e, "x")
	if value != "1" || after.Lineage != newest.Lineage || after.Position >= newest.Position {
		t.Errorf("%q, %+v; before it %+v", value, after, newest.Evidence)
	}
}

// TestRestoredSnapshot: a snapshot that is restored shows by the lineage, unless the cluster is to have the id
// that it had; then by the position.
func TestRestoredSnapshot(t *testing.T) {
	t.Parallel()
	old := startCluster(t, 1, nil)
	e := newEngine(t, clientOf(t, old), "")
	put(t, e, "x", "1")
	path := filepath.Join(t.TempDir(), "snapshot")
	config := clientv3.Config{Endpoints: []string{old.Members[0].Client}, Logger: zap.NewNop()}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(t.Context(), config, path); err != nil {
		t.Fatal(err)
	}
	newest := put(t, e, "x", "2")
	old.Stop()
	for name, tt := range map[string]struct {
		cluster *etcdtest.Cluster
		token   string
		shows   bool
	}{
		"another cluster": {newCluster(t, 1, nil), "etcd-cluster", true},
		"another token":   {old, "another", true},
		"the same id":     {old, "etcd-cluster", false},
	} {
		m := tt.cluster.Members[0]
		if err := os.RemoveAll(m.Data); err != nil {
			t.Fatal(err)
		}
		if err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
			SnapshotPath: path, Name: m.Name, OutputDataDir: m.Data, PeerURLs: []string{m.Peer},
			InitialCluster: m.Cluster, InitialClusterToken: tt.token,
		}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := tt.cluster.Start(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		value, after := read(t, newEngine(t, clientOf(t, tt.cluster), ""), "x")
		if value != "1" || (after.Lineage != newest.Lineage) != tt.shows || after.Position >= newest.Position {
			t.Errorf("%s: %q, %+v; before it %+v", name, value, after, newest.Evidence)
		}
		tt.cluster.Stop()
	}
}

// TestStore: Open and Create come to a store that works, through the URL.
func TestStore(t *testing.T) {
	url := urlOf(shared, newPrefix())
	_, err := etcdstore.Open(t.Context(), url)
	wantError(t, "Open without a store", err, store.ErrNoStore)
	s, err := etcdstore.Create(t.Context(), url+"&space=a", store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	_, err = etcdstore.Open(t.Context(), url)
	wantError(t, "Open of another space", err, store.ErrNoStore)
	_, err = etcdstore.Open(t.Context(), urlOf(shared, newPrefix()), store.WithSpace("a"))
	wantError(t, "Open with another prefix", err, store.ErrNoStore)
	_, err = etcdstore.Create(t.Context(), url, store.WithSpace("a"))
	wantError(t, "Create over a store", err, os.ErrExist)
	other, err := etcdstore.Open(t.Context(), url, store.WithSpace("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	_, err = other.Info(t.Context())
	wantError(t, "Info after Close", err, os.ErrClosed)
	if _, err := s.Info(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestCallersClient: Close leaves the client of New open.
func TestCallersClient(t *testing.T) {
	client := clientOf(t, shared)
	if err := newEngine(t, client, newPrefix()).Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := client.Get(t.Context(), "/"); err != nil {
		t.Errorf("Close closed the caller's client: %v", err)
	}
}

// TestLostReply: a swap takes effect and the reply is lost. That is an error, and it is not sent again.
func TestLostReply(t *testing.T) {
	p, err := servers.StartProxy(shared.Hosts())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client, prefix := clientOf(t, shared), newPrefix()
	e := newEngine(t, rawClient(t, p.Addr()), prefix)
	for name, expect := range map[string][]store.Entry{"expected": entries("expected", ""), "unconditional": nil} {
		read(t, e, name) // connects
		p.Mute(true)
		result := make(chan error, 1)
		go func() {
			_, err := e.Swap(t.Context(), expect, entries(name, "1"))
			result <- err
		}()
		eventually(t, "the swap takes effect", func(ctx context.Context) error {
			resp, err := client.Get(ctx, prefix+name)
			if err == nil && len(resp.Kvs) == 0 {
				err = errors.New("not yet")
			}
			return err
		})
		p.Mute(false)
		p.Cut()
		if err := <-result; err == nil {
			t.Errorf("%s: no error", name)
		}
		wantValue(t, e, name, "1")
		resp, err := client.Get(t.Context(), prefix+name)
		if err != nil || resp.Kvs[0].Version != 1 {
			t.Errorf("%s: %+v, %v; want it put once", name, resp.Kvs, err)
		}
	}
}
