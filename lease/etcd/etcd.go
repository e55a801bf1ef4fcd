// Package etcd is an engine for stores in etcd v3.
//
//	e, err := etcd.Connect(ctx, "etcd://user:password@host1:2379,host2:2379/?prefix=/ids/")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// # URL
//
// The URL lists members of one cluster; etcds:// is for TLS. The parameters:
//
//	prefix         what the keys begin with, up to a slash at its end; /randflake/ by default
//	ca             PEM file of the authorities for the servers, in place of the system's
//	certificate    PEM file with the client's certificate
//	key            PEM file with its key
//	dial-timeout   how long to wait for a connection; 5s by default
//
// # Calls
//
// An entry is a key: the prefix and the entry's name. No other keys may begin with the prefix. A
// user needs to read and write those keys alone. While etcd is out of reach a call waits until its
// context is done. etcd has no clock of its own, so the clock of each process counts.
//
// # Settings
//
// Members older than release 3.5.5 are refused. Never run etcd with --unsafe-no-fsync, which no
// client can find out. Let it compact (--auto-compaction-retention). When its space quota is used
// up it refuses all changes, and forgets nothing. What one call expects and puts must fit in its
// --max-request-bytes.
//
// # Lineage and position
//
// The lineage is the cluster's ID. It shows a snapshot that was restored into a new cluster. The
// position is etcd's revision. It shows
//
//   - an older data directory,
//   - a snapshot that was restored with the names, peer URLs and token that the cluster had,
//   - a minority that went on by --force-new-cluster,
//
// but only until other changes, or --bump-revision, have made up for the revisions that were lost.
// So give a restored cluster another --initial-cluster-token, or report a loss before any process
// uses the space.
package etcd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in etcd. It implements [lease.Engine].
type Engine struct {
	client  *clientv3.Client
	kv      clientv3.KV // of client, by sendOnce
	prefix  string
	own     bool        // Close closes the client
	checked atomic.Bool // the members are not too old
	closed  atomic.Bool
}

var _ lease.Engine = (*Engine)(nil)

// A Config says where in etcd the entries are.
type Config struct {
	Prefix string // what the keys begin with, up to a slash at its end; "/randflake/" if empty
}

// New returns an engine on a client. It uses the client's connections, not its KV. The engine's
// Close leaves the client open.
func New(client *clientv3.Client, config Config) (*Engine, error) {
	prefix, err := checkPrefix(config.Prefix)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	kv := clientv3.NewKVFromKVClient(sendOnce{clientv3.RetryKVClient(client)}, client)
	return &Engine{client: client, kv: kv, prefix: prefix}, nil
}

// checkPrefix returns the prefix, or the default if it is empty.
func checkPrefix(prefix string) (string, error) {
	prefix = cmp.Or(prefix, "/randflake/")
	if !strings.HasSuffix(prefix, "/") {
		return "", fmt.Errorf("prefix %q: want a slash at the end", prefix)
	}
	return prefix, nil
}

// Prepare has nothing to do.
func (e *Engine) Prepare(ctx context.Context) error { return e.checkUsable(ctx) }

// Read implements [lease.Engine], with one linearizable transaction.
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	resp, err := e.commit(ctx, "read", e.kv.Txn(ctx).Then(e.gets(names)...))
	if err != nil {
		return lease.Answer{}, err
	}
	a := evidence(resp)
	a.Entries = found(resp, names)
	return a, nil
}

// Swap implements [lease.Engine], with one transaction. etcd acknowledges a transaction when a
// majority of the members has it on disk.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	var conditions []clientv3.Cmp
	for _, want := range expect {
		key := e.prefix + want.Name
		condition := clientv3.Compare(clientv3.CreateRevision(key), "=", 0) // there is no such key
		if want.Value != nil {
			condition = clientv3.Compare(clientv3.Value(key), "=", string(want.Value))
		}
		conditions = append(conditions, condition)
	}
	var puts []clientv3.Op
	for _, next := range put {
		puts = append(puts, clientv3.OpPut(e.prefix+next.Name, string(next.Value)))
	}
	names := swap.Names(expect)
	resp, err := e.commit(ctx, "swap", e.kv.Txn(ctx).If(conditions...).Then(puts...).Else(e.gets(names)...))
	if err != nil {
		return lease.Answer{}, err
	}
	a := evidence(resp)
	a.Swapped = resp.Succeeded
	if !a.Swapped {
		a.Entries = found(resp, names)
	}
	return a, nil
}

// gets returns the gets for names, after one that finds nothing, on purpose: a member that lags
// behind may answer an empty transaction by itself.
func (e *Engine) gets(names []string) []clientv3.Op {
	ops := []clientv3.Op{clientv3.OpGet(e.prefix, clientv3.WithCountOnly())}
	for _, name := range names {
		ops = append(ops, clientv3.OpGet(e.prefix+name))
	}
	return ops
}

// found returns what the gets for names found.
func found(resp *clientv3.TxnResponse, names []string) []lease.Entry {
	entries := make([]lease.Entry, len(names))
	for i, name := range names {
		entries[i].Name = name
		kvs := resp.Responses[i+1].GetResponseRange().GetKvs()
		if len(kvs) > 0 {
			entries[i].Value = notNil(kvs[0].Value)
		}
	}
	return entries
}

// evidence returns an answer without entries.
func evidence(resp *clientv3.TxnResponse) lease.Answer {
	return lease.Answer{
		Lineage:  fmt.Sprintf("%x", resp.Header.GetClusterId()),
		Position: uint64(resp.Header.GetRevision()),
	}
}

// commit commits a transaction.
func (e *Engine) commit(ctx context.Context, what string, txn clientv3.Txn) (*clientv3.TxnResponse, error) {
	if err := e.checkUsable(ctx); err != nil {
		return nil, swap.Unmade(err)
	}
	resp, err := txn.Commit()
	if err != nil {
		return nil, e.explain(ctx, what, err)
	}
	return resp, nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	if err := e.checkUsable(ctx); err != nil {
		return nil, err
	}
	first := e.prefix + max(prefix, after+"\x00")
	end := clientv3.WithRange(e.prefix + prefix + "~") // which is above all characters of names
	resp, err := e.kv.Get(ctx, first, end, clientv3.WithLimit(int64(limit)))
	if err != nil {
		return nil, e.explain(ctx, "list", err)
	}
	var entries []lease.Entry
	for _, kv := range resp.Kvs {
		name := string(kv.Key[len(e.prefix):])
		entries = append(entries, lease.Entry{Name: name, Value: notNil(kv.Value)})
	}
	return entries, nil
}

// notNil returns a copy that is not nil, as nil means that there is no entry.
func notNil(value []byte) []byte { return append([]byte{}, value...) }

// Close implements [lease.Engine]. A client that was given to New stays open.
func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.own {
		return e.client.Close()
	}
	return nil
}

// String says which keys of which members.
func (e *Engine) String() string {
	return "etcd " + strings.Join(e.client.Endpoints(), ",") + " prefix " + e.prefix
}

// explain adds to an error what was tried, where, and that the context has ended.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	return fmt.Errorf("etcd: %s: %s: %w", what, e, swap.Explain(err, swap.Ended(ctx)))
}
