package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/filestore"
)

// patience is how long a command waits for other processes that use the store.
const patience = 30 * time.Second

func leaseCommands() []command {
	return []command{
		{"list", "show the leases of a store", (*tool).runLeaseList},
		{"acquire", "take a lease, for a program that can't do so itself", (*tool).runLeaseAcquire},
		{"release", "give a lease back", (*tool).runLeaseRelease},
		{"init", "make a store", (*tool).runLeaseInit},
	}
}

func (t *tool) runLease(ctx context.Context, args []string) error {
	return t.dispatch(ctx, "randflake lease", leaseCommands(), args)
}

const leaseStoreUsage = `
  -store DIR   the directory of the store; without it, your state directory (see randflake new -h)
`

// withStore opens the store for use.
func (t *tool) withStore(ctx context.Context, h *home, use func(context.Context, *filestore.Store) error) error {
	if err := h.resolve(); err != nil {
		return err
	}
	store, err := h.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return use(ctx, store)
}

// A leaseView is what the lease commands print of a record.
type leaseView struct {
	FirstNode uint32      `json:"firstNode"`
	LastNode  uint32      `json:"lastNode"`
	Owner     lease.Owner `json:"owner,omitzero"`
	Version   uint64      `json:"version"`
	Start     time.Time   `json:"start"`
	Until     time.Time   `json:"until"`
	State     string      `json:"state"`
}

func (a assessor) view(rec lease.Record) leaseView {
	l := rec.Lease()
	return leaseView{rec.FirstNode, rec.LastNode, rec.Owner, rec.Version, l.Start, l.End, a.state(rec)}
}

// An assessor names the states of a store's records.
type assessor struct {
	rules     lease.Rules
	now       int64 // Unix seconds
	notBefore int64 // where leases start now: at present, or later in a store that may have lost data
}

func newAssessor(ctx context.Context, store *filestore.Store) (assessor, error) {
	now := time.Now()
	rules, notBefore, err := store.Limits(ctx)
	if notBefore.Before(now) {
		notBefore = now
	}
	return assessor{rules, now.Unix(), notBefore.Unix()}, err
}

func (a assessor) state(rec lease.Record) string {
	switch {
	case a.rules.Poisoned(rec, a.notBefore):
		return "poisoned"
	case rec.Owner == lease.Owner{}:
		return "released"
	case rec.HighWater < a.now:
		return "free"
	}
	return "leased"
}

// printJSON prints v in one line.
func (t *tool) printJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.print(string(line) + "\n")
}

const leaseListUsage = `Usage: randflake lease list [-json] [-store DIR]

Shows each range of nodes that the store ever granted, with its newest lease: owner, version, the
first second that the holder may embed (START), the first one that it may not (UNTIL), and the state:

  leased     the lease runs, or will
  free       it has ended
  released   the holder gave it back
  poisoned   it ends so far ahead that a wrong clock must have granted it; the range is passed over

  -json        print one JSON object a line
` + leaseStoreUsage

func (t *tool) runLeaseList(ctx context.Context, args []string) error {
	flags := newFlags("lease list", leaseListUsage)
	var h home
	flags.path(&h.dir, "store")
	asJSON := flags.Bool("json", false, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	return t.withStore(ctx, &h, func(ctx context.Context, store *filestore.Store) error {
		records, err := store.List(ctx)
		if err != nil {
			return err
		}
		states, err := newAssessor(ctx, store)
		if err != nil {
			return err
		}
		if *asJSON {
			return t.print(leaseLines(records, states))
		}
		return t.print(leaseTable(records, states))
	})
}

func leaseLines(records []lease.Record, states assessor) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, rec := range records {
		enc.Encode(states.view(rec)) // has nothing that can fail
	}
	return b.String()
}

func leaseTable(records []lease.Record, states assessor) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODES\tOWNER\tVERSION\tSTART\tUNTIL\tSTATE")
	for _, rec := range records {
		v := states.view(rec)
		owner := "-"
		if v.Owner != (lease.Owner{}) {
			owner = v.Owner.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", nodeRange(v.FirstNode, v.LastNode), owner, v.Version,
			v.Start.Format(time.RFC3339), v.Until.Format(time.RFC3339), v.State)
	}
	w.Flush()
	return b.String()
}

func nodeRange(first, last uint32) string {
	if first == last {
		return strconv.Itoa(int(first))
	}
	return fmt.Sprintf("%d-%d", first, last)
}

const leaseAcquireUsage = `Usage: randflake lease acquire [-nodes N] [-ttl D] [-store DIR]

Takes a lease and prints it as a JSON object: firstNode, lastNode (both included), owner (the token
that releases it), version, start (the first second that may be embedded), until (the first one that
may not), state. Nothing renews the lease: at its end the nodes are free again.

  -nodes N     how many contiguous nodes, 1 to 131072 (default 1); each gives 131,072 IDs a second
  -ttl D       how long, in whole seconds, such as 90s or 5m (default 1m)
` + leaseStoreUsage

func (t *tool) runLeaseAcquire(ctx context.Context, args []string) error {
	flags := newFlags("lease acquire", leaseAcquireUsage)
	var h home
	flags.path(&h.dir, "store")
	nodes := flags.Int("nodes", 1, "")
	ttl := flags.Duration("ttl", time.Minute, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	return t.withStore(ctx, &h, func(ctx context.Context, store *filestore.Store) error {
		rec, err := store.Acquire(ctx, lease.Request{Nodes: *nodes, TTL: *ttl})
		if errors.Is(err, lease.ErrInvalidRequest) {
			return flags.wrong("%v", err)
		}
		if err != nil {
			return err
		}
		states, err := newAssessor(ctx, store)
		if err == nil {
			err = t.printJSON(states.view(rec))
		}
		if err != nil {
			// Nobody knows the owner's token, so nobody can use or release the lease.
			return errors.Join(err, store.Release(ctx, rec, time.Unix(rec.Start-1, 0)))
		}
		return nil
	})
}

const leaseReleaseUsage = `Usage: randflake lease release -owner TOKEN [-last-used TIME] [-store DIR]

Gives a lease back, once nothing uses it any more. A TIME that is too early can repeat IDs.

  -owner TOKEN      the owner that "lease acquire" printed
  -last-used TIME   the last second that was really embedded, such as 2025-01-31T12:00:00Z, or
                    "unused" if none was: the nodes are free from the next one. Without it, they
                    are when the lease would have ended.
` + leaseStoreUsage

func (t *tool) runLeaseRelease(ctx context.Context, args []string) error {
	flags := newFlags("lease release", leaseReleaseUsage)
	var h home
	var owner lease.Owner
	var used lastUsed
	flags.path(&h.dir, "store")
	flags.Func("owner", "", func(text string) error { return owner.UnmarshalText([]byte(text)) })
	flags.Func("last-used", "", used.set)
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if owner == (lease.Owner{}) {
		return flags.wrong("-owner is missing: randflake lease list shows the owners")
	}
	return t.withStore(ctx, &h, func(ctx context.Context, store *filestore.Store) error {
		records, err := store.List(ctx)
		if err != nil {
			return err
		}
		for _, rec := range records {
			if rec.Owner == owner {
				return used.release(ctx, store, rec)
			}
		}
		return fmt.Errorf("no lease of owner %v in %s: it was released or, after its end, taken over", owner, h.dir)
	})
}

// lastUsed is the value of -last-used.
type lastUsed struct {
	given, unused bool
	second        int64
}

func (u *lastUsed) set(text string) error {
	if text == "unused" {
		*u = lastUsed{given: true, unused: true}
		return nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New(`want a time such as 2025-01-31T12:00:00Z, or "unused"`)
	}
	*u = lastUsed{given: true, second: t.Unix()}
	return nil
}

// release releases rec. A second outside the lease is a mistake that it does not guess about.
func (u lastUsed) release(ctx context.Context, store lease.Store, rec lease.Record) error {
	second := u.second
	switch {
	case !u.given:
		second = rec.HighWater
	case u.unused:
		second = rec.Start - 1
	case second < rec.Start || second > rec.HighWater:
		l := rec.Lease()
		return fmt.Errorf("-last-used %s is outside the lease, which is from %s until before %s",
			time.Unix(second, 0).UTC().Format(time.RFC3339), l.Start.Format(time.RFC3339), l.End.Format(time.RFC3339))
	}
	return store.Release(ctx, rec, time.Unix(second, 0))
}

const leaseInitUsage = `Usage: randflake lease init [-new-secret] [-store DIR] [-secret-file F]

Makes a lease store in DIR. It can't know what other stores granted for the secret, one that was lost
for instance, so its first lease starts when all of theirs have ended: eleven minutes from now, if
they granted leases of ten minutes at most, as this command does.

  -new-secret        make a secret too, which no other store can know of: the first lease may start
                     at once
  -store DIR         the directory, on a local disk; without it, your state directory (see randflake
                     new -h)
  -secret-file F     where -new-secret puts the secret; without it, the file "secret" in DIR
`

func (t *tool) runLeaseInit(ctx context.Context, args []string) error {
	flags := newFlags("lease init", leaseInitUsage)
	var h home
	flags.homeFlags(&h)
	newSecret := flags.Bool("new-secret", false, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if h.secretFile != "" && !*newSecret {
		return flags.wrong("-secret-file is where -new-secret puts the secret: a store needs none")
	}
	if err := h.resolve(); err != nil {
		return err
	}
	if err := makeDirs(h.dir); err != nil {
		return err
	}
	if *newSecret {
		return t.initWithSecret(h)
	}
	if err := createStore(h.dir); err != nil {
		return err
	}
	return t.withStore(ctx, &h, func(ctx context.Context, store *filestore.Store) error {
		_, start, err := store.Limits(ctx)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("made a lease store in %s: its first lease starts at %s\n", h.dir, start.Format(time.RFC3339)))
	})
}

// initWithSecret makes the secret first: should the store fail, the secret is no longer new, and a
// store that is made later starts after the delay.
func (t *tool) initWithSecret(h home) error {
	if store, err := filestore.Open(h.dir); !errors.Is(err, lease.ErrNoStore) {
		if err != nil {
			return err
		}
		store.Close()
		return errStoreExists(h.dir)
	}
	if err := makeSecretFile(h.secretFile); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: without -new-secret you get a store for the one that is there", err)
		}
		return err
	}
	if err := createStore(h.dir, filestore.ForNewSecret()); err != nil {
		return err
	}
	return t.print(fmt.Sprintf("made a new secret in %s and a lease store in %s\n", h.secretFile, h.dir))
}

// createStore creates a store and closes it.
func createStore(dir string, options ...filestore.Option) error {
	store, err := filestore.Create(dir, options...)
	if errors.Is(err, fs.ErrExist) {
		return errStoreExists(dir)
	}
	if err != nil {
		return err
	}
	return store.Close()
}

func errStoreExists(dir string) error {
	return fmt.Errorf("%s holds a lease store, or a part of one: a store is never replaced: use it, or name another directory", filepath.Clean(dir))
}
