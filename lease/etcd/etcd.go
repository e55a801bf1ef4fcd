// Package etcd keeps entries in etcd v3.
//
//	s, err := etcd.Open(ctx, "etcd://user:password@host1:2379,host2:2379/?prefix=/ids/")
//
// The URL lists members of one cluster; etcds:// is for TLS. The parameters:
//
//	prefix           what the keys begin with, up to a slash at its end; /randflake/ by default
//	ca               PEM file with the certificates that the servers' must be signed by, not the system's
//	cert, key        PEM files with the client's certificate and key
//	server-name      the name in the servers' certificates, if it is not the one in the URL
//	dial-timeout     how long to wait for a connection; 5s by default
//	space, recovery  see [store.TakeOptions]
//
// An entry is a key, prefix and name; no other keys may begin with the prefix. A user needs to read and
// write those alone. While etcd is out of reach a call waits until its context is done. The process has the clock.
//
// Members older than release 3.5.5 are refused. Never run etcd with --unsafe-no-fsync, which no client can
// find out. Let it compact (--auto-compaction-retention). When its space quota is used up it refuses all
// changes, and forgets nothing. What one call expects and puts must fit in its --max-request-bytes.
//
// Lineage is the cluster's id, by which a snapshot shows that was restored into a new cluster. Position is
// etcd's revision. By that an older data directory shows, a snapshot restored with the names, peer URLs and
// token that the cluster had, and a minority that went on by --force-new-cluster, but only until other
// changes, or --bump-revision, have made up for the revisions that were lost. So give a restored cluster
// another --initial-cluster-token, or call [store.Space.ReportLoss] before any process uses the store.
package etcd

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/store"
)

// An Engine holds entries in etcd. It implements [store.Engine].
type Engine struct {
	kv            clientv3.KV
	prefix, where string
	nothing       clientv3.Op  // finds nothing: a member that lags behind may answer a transaction without operations
	disconnect    func() error // nil if the client is the caller's
	closed        atomic.Bool
}

// A Config says where the entries are.
type Config struct {
	Prefix string // what the keys begin with, up to a slash at its end; "/randflake/" if empty
}

// New returns an engine on a client that the caller has, once it knows that no member is too old. It goes by
// the client's connections, and not by client.KV. Close leaves the client open.
func New(ctx context.Context, client *clientv3.Client, config Config) (*Engine, error) {
	prefix := cmp.Or(config.Prefix, "/randflake/")
	if !strings.HasSuffix(prefix, "/") {
		return nil, fmt.Errorf("etcdstore: prefix %q: want a slash at the end", prefix)
	}
	e := &Engine{
		kv:     clientv3.NewKVFromKVClient(sendOnce{clientv3.RetryKVClient(client)}, client),
		prefix: prefix, nothing: clientv3.OpGet(prefix, clientv3.WithCountOnly()),
		where: "etcd " + strings.Join(client.Endpoints(), ",") + " prefix " + prefix,
	}
	if err := checkVersions(ctx, client); err != nil {
		return nil, e.failed("check the release", err)
	}
	return e, nil
}

// Prepare has nothing to do.
func (e *Engine) Prepare(ctx context.Context) error { return e.usable(ctx) }

// Read implements [store.Engine], with one linearizable transaction.
func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	ops := []clientv3.Op{e.nothing}
	if page.Limit > 0 && page.From < page.To { // etcd's limit 0 is none
		ops[0] = clientv3.OpGet(e.prefix+page.From, clientv3.WithRange(e.prefix+page.To), clientv3.WithLimit(int64(page.Limit)))
	}
	for _, name := range names {
		ops = append(ops, clientv3.OpGet(e.prefix+name))
	}
	answer, resp, err := e.commit(ctx, "read", nil, ops, nil)
	if err != nil {
		return store.Answer{}, err
	}
	answer.Page = e.found(resp.Responses[0])
	for i, name := range names {
		answer.Named = append(answer.Named, store.Entry{Name: name})
		copy(answer.Named[i:], e.found(resp.Responses[i+1]))
	}
	return answer, nil
}

// Swap implements [store.Engine], with one transaction. etcd acknowledges it when a majority has it on disk.
func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	var conditions []clientv3.Cmp
	var puts []clientv3.Op
	gets := []clientv3.Op{e.nothing}
	for _, want := range expect {
		key := e.prefix + want.Name
		condition := clientv3.Compare(clientv3.Value(key), "=", string(want.Value)) // false where there is no key
		if want.Value == nil {
			condition = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		}
		conditions, gets = append(conditions, condition), append(gets, clientv3.OpGet(key))
	}
	for _, next := range put {
		change := clientv3.OpPut(e.prefix+next.Name, string(next.Value))
		if next.Value == nil {
			change = clientv3.OpDelete(e.prefix + next.Name)
		}
		puts = append(puts, change)
	}
	answer, resp, err := e.commit(ctx, "write: outcome unknown", conditions, puts, gets)
	if err != nil {
		return store.Answer{}, err
	}
	answer.Swapped, answer.Named = resp.Succeeded, slices.Clone(expect)
	for i := range expect {
		if !resp.Succeeded {
			answer.Named[i].Value = nil
			copy(answer.Named[i:], e.found(resp.Responses[i+1]))
		}
	}
	return answer, nil
}

func (e *Engine) commit(ctx context.Context, what string, conditions []clientv3.Cmp, then, otherwise []clientv3.Op) (store.Answer, *clientv3.TxnResponse, error) {
	if err := e.usable(ctx); err != nil {
		return store.Answer{}, nil, err
	}
	resp, err := e.kv.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	if end, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(end) {
		<-ctx.Done() // the server may notice the deadline first
	}
	if err != nil {
		return store.Answer{}, nil, e.failed(what, cmp.Or(ctx.Err(), err))
	}
	evidence := store.Evidence{Lineage: fmt.Sprintf("%x", resp.Header.GetClusterId()), Position: uint64(resp.Header.GetRevision())}
	return store.Answer{Evidence: evidence}, resp, nil
}

// found returns the entries that an operation found, with values that are not nil.
func (e *Engine) found(r *pb.ResponseOp) (entries []store.Entry) {
	for _, kv := range r.GetResponseRange().GetKvs() {
		entries = append(entries, store.Entry{Name: string(kv.Key[len(e.prefix):]), Value: append([]byte{}, kv.Value...)})
	}
	return entries
}

func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.disconnect != nil {
		return e.disconnect()
	}
	return nil
}

func (e *Engine) String() string { return e.where }
func (e *Engine) usable(ctx context.Context) error {
	if e.closed.Load() {
		return e.failed("use", fs.ErrClosed)
	}
	return ctx.Err()
}

func (e *Engine) failed(what string, err error) error {
	return fmt.Errorf("etcdstore: %s: %s: %w", e.where, what, err)
}
