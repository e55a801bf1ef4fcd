package etcdstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

func TestCreateAndOpen(t *testing.T) {
	url := newURL()
	if _, err := Open(t.Context(), url); !errors.Is(err, lease.ErrNoStore) || !strings.Contains(err.Error(), "randflake lease init -store") {
		t.Errorf("Open without a store: error %v, want ErrNoStore and what to do", err)
	}
	s, clock := create(t, url)
	if rules, notBefore, err := s.Limits(t.Context()); err != nil || rules != testRules || !notBefore.IsZero() {
		t.Errorf("limits %+v, %v, %v", rules, notBefore, err)
	}
	if _, err := Create(t.Context(), url); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a store: error %v, want ErrExist", err)
	}
	held := acquire(t, s, oneMinute)
	renew(t, open(t, url, clock), held)
	if _, err := Open(t.Context(), url, OrCreate()); err != nil {
		t.Errorf("Open with OrCreate where there is a store: %v", err)
	}
	for name, opts := range map[string][]Option{
		"WithRules": {WithRules(testRules)}, "ForNewSecret": {OrCreate(), ForNewSecret()}, "nil": {nil}, "nil clock": {WithClock(nil)},
	} {
		if _, err := Open(t.Context(), url, opts...); err == nil {
			t.Errorf("Open with %s: no error", name)
		}
	}
	if _, err := Create(t.Context(), newURL(), WithRules(lease.Rules{})); err == nil {
		t.Error("Create with unsound rules: no error")
	}
}

// TestCreateSetsFloor: what is not for a new secret waits, also what OrCreate makes.
func TestCreateSetsFloor(t *testing.T) {
	now := WithClock(func() time.Time { return noon })
	for name, begin := range map[string]func(url string) (*Store, error){
		"Create":   func(url string) (*Store, error) { return Create(t.Context(), url, now, WithRules(testRules)) },
		"OrCreate": func(url string) (*Store, error) { return Open(t.Context(), url, now, OrCreate(), WithRules(testRules)) },
	} {
		s, err := begin(newURL())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantFloor(t, s, noon.Unix()+floorSpan)
		s.Close()
	}
	s, err := Create(t.Context(), newURL())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if rules, _, err := s.Limits(t.Context()); err != nil || rules != lease.DefaultRules() {
		t.Errorf("rules %+v, %v, want the default", rules, err)
	}
}

// TestCreateOverRecords: records without a meta are what is left of a store.
func TestCreateOverRecords(t *testing.T) {
	url := newURL()
	s, clock := create(t, url)
	acquire(t, s, oneMinute)
	edit(t, s, clientv3.OpDelete(s.keys.meta()))
	if _, err := Create(t.Context(), url, ForNewSecret()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create for a new secret: error %v, want ErrExist", err)
	}
	next, err := Create(t.Context(), url, WithRules(testRules), WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	wantFloor(t, next, noon.Unix()+floorSpan)
	if records, err := next.List(t.Context()); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v; want the one that was there", len(records), err)
	}
}

// TestOrCreateAtOnce: many programs start on nothing, and end up with one store.
func TestOrCreateAtOnce(t *testing.T) {
	url := newURL()
	incarnations := make([][16]byte, 8)
	var wg sync.WaitGroup
	for i := range incarnations {
		wg.Go(func() {
			s, err := Open(t.Context(), url, OrCreate())
			if err != nil {
				t.Error(err)
				return
			}
			incarnations[i] = s.seen.meta.Incarnation
			s.Close()
		})
	}
	wg.Wait()
	for _, got := range incarnations {
		if got != incarnations[0] || got == [16]byte{} {
			t.Errorf("incarnations %x, want one", incarnations)
		}
	}
}

// TestPrefixes: stores with other prefixes don't see each other, one below the other or not.
func TestPrefixes(t *testing.T) {
	url := newURL()
	outer, _ := create(t, url)
	inner, _ := create(t, url+"pre/")
	held := acquire(t, inner, oneMinute)
	if got := acquire(t, outer, oneMinute); got.FirstNode != held.FirstNode {
		t.Errorf("node %d, want %d as in an empty store", got.FirstNode, held.FirstNode)
	}
	if records, err := outer.List(t.Context()); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v; want 1", len(records), err)
	}
}

func TestNew(t *testing.T) {
	url := newURL()
	s, clock := create(t, url)
	client := rawClient(t, shared.Members[0].Client)
	config := Config{Prefix: s.keys.prefix}
	given, err := New(t.Context(), client, config, WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	acquire(t, given, oneMinute)
	if err := given.Close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Get(t.Context(), "/"); err != nil {
		t.Errorf("Close closed the caller's client: %v", err)
	}
	if _, err := New(t.Context(), client, Config{}); !errors.Is(err, lease.ErrNoStore) || !strings.Contains(err.Error(), defaultPrefix) {
		t.Errorf("New with the default prefix: error %v, want ErrNoStore", err)
	}
	if _, err := New(t.Context(), client, Config{Prefix: "x"}); err == nil {
		t.Error("New with a prefix that does not end in a slash: no error")
	}
	if _, err := New(t.Context(), nil, config); err == nil {
		t.Error("New without a client: no error")
	}
}

func TestClosed(t *testing.T) {
	s, _ := create(t, newURL())
	held := acquire(t, s, oneMinute)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	ctx := t.Context()
	_, acquireErr := s.Acquire(ctx, oneMinute)
	_, renewErr := s.Renew(ctx, held, time.Minute)
	_, lookupErr := s.Lookup(ctx, held)
	_, listErr := s.List(ctx)
	_, _, limitsErr := s.Limits(ctx)
	for _, err := range []error{acquireErr, renewErr, lookupErr, listErr, limitsErr, s.Release(ctx, held, noon), s.Distrust(ctx)} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
	if _, err := s.client.Get(ctx, "/"); err == nil {
		t.Error("the client of Open is still open")
	}
}

// TestNeverExpires: no key has an etcd lease.
func TestNeverExpires(t *testing.T) {
	s, _ := create(t, newURL())
	held := renew(t, s, acquire(t, s, oneMinute))
	if err := s.Release(t.Context(), held, noon); err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Get(t.Context(), s.keys.prefix, clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 2 {
		t.Fatalf("%d keys, %v; want 2", len(resp.Kvs), err)
	}
	for _, kv := range resp.Kvs {
		if kv.Lease != 0 {
			t.Errorf("%s has the lease %x", kv.Key, kv.Lease)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.6.16": true, "3.5.5": true, "3.5.21": true, "3.7.0-rc.1": true, "4.0.0": true, "10.0.0": true,
		"3.5.4": false, "3.4.30": false, "2.9.9": false, "": false, "new": false,
	} {
		if err := checkVersion("host", version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// stderr returns what f writes to standard error.
func stderr(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = old }()
	f()
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}

// TestSilent: etcd's client, which by itself writes to standard error, does not.
func TestSilent(t *testing.T) {
	const nowhere = "127.0.0.1:1"
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if text := stderr(t, func() {
		if s, err := Open(short(), "etcd://user:zqxj@"+nowhere); err == nil {
			s.Close()
			t.Error("connected to nowhere")
		}
		s, _ := create(t, newURL())
		acquire(t, s, oneMinute)
		s.Close()
		s.client.Get(short(), "/")
	}); text != "" {
		t.Errorf("standard error: %s", text)
	}
	if text := stderr(t, func() {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{nowhere}})
		if err != nil {
			t.Error(err)
			return
		}
		client.Get(short(), "/")
		client.Close()
	}); text == "" {
		t.Error("a client that is not silenced is silent too: the test tests nothing")
	}
}

// TestKeeper: a keeper holds a lease here from beginning to end.
func TestKeeper(t *testing.T) {
	s, err := Create(t.Context(), newURL(), ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k, err := lease.Keep(t.Context(), s, randflake.NewSecret(), lease.Nodes(2))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[randflake.ID]bool{}
	for range 1000 {
		id, err := k.Generator().Generate()
		if err != nil || seen[id] {
			t.Fatalf("ID %v, seen before: %v; %v", id, seen[id], err)
		}
		seen[id] = true
	}
	if err := k.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	records, err := s.List(t.Context())
	if err != nil || len(records) != 1 || records[0].Owner != (lease.Owner{}) || records[0].Nodes() != 2 {
		t.Errorf("records %+v, %v; want one, released", records, err)
	}
}
