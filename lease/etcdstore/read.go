package etcdstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/lease"
)

// A view is what one answer of etcd says of the store, all as of one revision.
type view struct {
	before   sighting // what the handle knew when it asked
	revision int64
	cluster  uint64         // which cluster answered
	meta     *meta          // nil if there is none
	records  []lease.Record // those in the answer, ordered by FirstNode
	newest   position       // of the keys in the answer
	reread   int64          // the mod revision that before.newest's key has now, 0 if it is gone
}

// find returns the record of held's range, or the zero Record, which nobody holds.
func (v *view) find(held lease.Record) lease.Record {
	i, ok := slices.BinarySearchFunc(v.records, held.FirstNode, func(r lease.Record, first uint32) int {
		return cmp.Compare(r.FirstNode, first)
	})
	if !ok || v.records[i].LastNode != held.LastNode {
		return lease.Record{}
	}
	return v.records[i]
}

// readEverything asks for everything in the store, in one linearizable read.
func (s *Store) readEverything(ctx context.Context, before sighting) (view, error) {
	resp, err := s.client.Get(ctx, s.keys.meta(), clientv3.WithRange(s.keys.prefix+rangeEnd))
	if err != nil {
		return view{}, s.failed("read", err)
	}
	return s.parse(before, resp.Header, resp.Kvs)
}

// everything are the operations that read the same within a transaction.
func (s *Store) everything() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(s.keys.meta(), clientv3.WithRange(s.keys.prefix+rangeEnd))}
}

// readOne asks for the record of held's range alone, and for what tells of a loss, in one
// linearizable read.
func (s *Store) readOne(held lease.Record) func(context.Context, sighting) (view, error) {
	return func(ctx context.Context, before sighting) (view, error) {
		resp, err := s.client.Txn(ctx).Then(s.one(held, before)...).Commit()
		if err != nil {
			return view{}, s.failed("read", err)
		}
		return s.parse(before, resp.Header, contents(resp)...)
	}
}

// one are the operations that read the same within a transaction.
func (s *Store) one(held lease.Record, before sighting) []clientv3.Op {
	names := []string{s.keys.meta(), s.keys.record(held)}
	if !slices.Contains(names, before.newest.key) {
		names = append(names, before.newest.key)
	}
	ops := make([]clientv3.Op, len(names))
	for i, name := range names {
		ops[i] = clientv3.OpGet(name)
	}
	return ops
}

// contents returns what the reads of a transaction found.
func contents(resp *clientv3.TxnResponse) [][]*mvccpb.KeyValue {
	var found [][]*mvccpb.KeyValue
	for _, r := range resp.Responses {
		found = append(found, r.GetResponseRange().GetKvs())
	}
	return found
}

// parse makes a view of an answer, in which no key may be twice. It fails with lease.ErrCorrupt
// where a value is not what a store wrote there.
func (s *Store) parse(before sighting, header *pb.ResponseHeader, found ...[]*mvccpb.KeyValue) (view, error) {
	v := view{before: before, revision: header.GetRevision(), cluster: header.GetClusterId()}
	for _, kv := range slices.Concat(found...) {
		key := string(kv.Key)
		switch {
		case key == s.keys.meta():
			m, err := decodeMeta(kv.Value)
			if err != nil {
				return view{}, corrupt(key, err.Error())
			}
			v.meta = &m
		case strings.HasPrefix(key, s.keys.prefix+rangeName):
			r, err := decodeRecord(kv.Value)
			if err != nil {
				return view{}, corrupt(key, err.Error())
			}
			if want := s.keys.record(r); key != want {
				return view{}, corrupt(key, fmt.Sprintf("is the record of %q", want))
			}
			v.records = append(v.records, r)
		default:
			continue // between the two, and somebody else's
		}
		if key == before.newest.key {
			v.reread = kv.ModRevision
		}
		if kv.ModRevision > v.newest.revision {
			v.newest = position{key, kv.ModRevision}
		}
	}
	slices.SortFunc(v.records, func(a, b lease.Record) int { return cmp.Compare(a.FirstNode, b.FirstNode) })
	for i := 1; i < len(v.records); i++ {
		if a, b := v.records[i-1], v.records[i]; a.LastNode >= b.FirstNode {
			return view{}, corrupt(s.keys.record(b), fmt.Sprintf("covers node %d, as %q does", b.FirstNode, s.keys.record(a)))
		}
	}
	return v, nil
}

// corrupt returns an error that wraps lease.ErrCorrupt.
func corrupt(key, what string) error {
	return fmt.Errorf("etcdstore: key %q: %s: %w: nothing was changed; create a new store under another prefix, not as one for a new secret",
		key, what, lease.ErrCorrupt)
}
