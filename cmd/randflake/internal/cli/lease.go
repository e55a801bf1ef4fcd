package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// patience is how long a command waits for other processes that use the store.
const patience = 30 * time.Second

func (t *tool) leaseCommands() []command {
	all := []command{
		{"list", "show the leases of a store", (*tool).runLeaseList},
		{"acquire", "take a lease, for a program that can't do so itself", (*tool).runLeaseAcquire},
		{"release", "give a lease back", (*tool).runLeaseRelease},
		{"init", "make a store", (*tool).runLeaseInit},
		{"distrust", "say that a store was restored from a backup", (*tool).runLeaseDistrust},
		{"pardon", "say that a clock was ahead, and is right now", (*tool).runLeasePardon},
	}
	if _, found := t.schemaEngine(); found {
		all = append(all, command{"ddl", "print what makes the schema of a store", (*tool).runLeaseDDL})
	}
	return all
}

func (t *tool) runLease(ctx context.Context, args []string) error {
	return t.dispatch(ctx, "randflake lease", t.leaseCommands(), args)
}

const leaseStoreUsage = `
  -store STORE   the store; without it, what RANDFLAKE_STORE names, or your state directory
` + storeUsage

// withStore opens the store for use.
func (t *tool) withStore(ctx context.Context, h *home, use func(context.Context, *store.Store) error) error {
	if err := h.resolve(t); err != nil {
		return err
	}
	space, err := h.openStore(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return use(ctx, space)
}

// A leaseView is what the lease commands print of a record.
type leaseView struct {
	FirstNode uint32      `json:"firstNode"`
	LastNode  uint32      `json:"lastNode"`
	Owner     lease.Token `json:"owner,omitzero"`
	Version   uint64      `json:"version"`
	Start     time.Time   `json:"start"`
	Until     time.Time   `json:"until"`
	State     string      `json:"state"`
}

func (a assessor) view(rec lease.Record) leaseView {
	l := rec.Lease()
	return leaseView{rec.FirstNode, rec.LastNode, rec.Owner, rec.Version, l.Start, l.End, a.state(rec)}
}

// An assessor says what a store's records mean at present.
type assessor struct {
	now  int64 // Unix seconds
	meta *store.Meta
}

func newAssessor(ctx context.Context, space *store.Store) (assessor, error) {
	v, err := space.Look(ctx, nil, store.Page{})
	if err != nil {
		return assessor{}, err
	}
	return assessor{v.Now, v.Meta}, nil
}

// state names the state of a record. No lease reaches further ahead than the longest one does, by a
// clock that passes for right.
func (a assessor) state(rec lease.Record) string {
	switch {
	case rec.HighWater > a.now+a.meta.MaxTTL+a.meta.MaxSkew:
		return "poisoned"
	case rec.Owner == lease.Token{}:
		return "released"
	case rec.HighWater < a.now:
		return "free"
	}
	return "leased"
}

// bounds says which seconds are not granted, whichever nodes are free.
func (a assessor) bounds() string {
	stamp := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
	var b strings.Builder
	if a.meta.Floor > a.now {
		fmt.Fprintf(&b, "\nno lease starts before %s: what the store may not know of has ended by then\n", stamp(a.meta.Floor))
	}
	if barred := a.meta.Barred; barred != nil && barred.To > a.now {
		fmt.Fprintf(&b, "\nno lease has a second from %s until before %s: see randflake lease pardon -h\n", stamp(barred.From), stamp(barred.To))
	}
	return b.String()
}

// printJSON prints v in one line.
func (t *tool) printJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.print(string(line) + "\n")
}

const leaseListUsage = `Usage: randflake lease list [-json] [-store STORE]

Shows each range of nodes that the store ever granted, with its newest lease: owner, version, the
first second that the holder may embed (START), the first one that it may not (UNTIL), and the state:

  leased     the lease runs, or will
  free       it has ended
  released   the holder gave it back
  poisoned   it ends so far ahead that a wrong clock must have granted it; the range is passed over,
             unless you run: randflake lease pardon

Below that it says before which second no lease starts, and which seconds none has, if there are such.

  -json          print each lease as a JSON object in one line, and nothing else
` + leaseStoreUsage

func (t *tool) runLeaseList(ctx context.Context, args []string) error {
	flags := newFlags("lease list", leaseListUsage)
	var h home
	flags.path(&h.store, "store")
	asJSON := flags.Bool("json", false, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	return t.withStore(ctx, &h, func(ctx context.Context, space *store.Store) error {
		records, err := lease.On(space).List(ctx)
		if err != nil {
			return err
		}
		states, err := newAssessor(ctx, space)
		if err != nil {
			return err
		}
		if *asJSON {
			return t.print(leaseLines(records, states))
		}
		return t.print(leaseTable(records, states) + states.bounds())
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
		if v.Owner != (lease.Token{}) {
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

const leaseAcquireUsage = `Usage: randflake lease acquire [-nodes N] [-ttl D] [-store STORE]

Takes a lease and prints it as a JSON object: firstNode, lastNode (both included), owner (the token
that releases it), version, start (the first second that may be embedded), until (the first one that
may not), state. Nothing renews the lease: at its end the nodes are free again.

  -nodes N       how many contiguous nodes, 1 to 131072 (default 1); each gives 131,072 IDs a second
  -ttl D         how long, in whole seconds, such as 90s or 5m (default 1m)
` + leaseStoreUsage

func (t *tool) runLeaseAcquire(ctx context.Context, args []string) error {
	flags := newFlags("lease acquire", leaseAcquireUsage)
	var h home
	flags.path(&h.store, "store")
	nodes := flags.Int("nodes", 1, "")
	ttl := flags.Duration("ttl", time.Minute, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	return t.withStore(ctx, &h, func(ctx context.Context, space *store.Store) error {
		leases := lease.On(space)
		rec, err := leases.Acquire(ctx, lease.Request{Nodes: *nodes, TTL: *ttl})
		if errors.Is(err, lease.ErrInvalidRequest) {
			return flags.wrong("%v", err)
		}
		if err != nil {
			return err
		}
		states, err := newAssessor(ctx, space)
		if err == nil {
			err = t.printJSON(states.view(rec))
		}
		if err != nil {
			// Nobody knows the owner's token, so nobody can use or release the lease.
			return errors.Join(err, leases.Release(ctx, rec, time.Unix(rec.Start-1, 0)))
		}
		return nil
	})
}

const leaseReleaseUsage = `Usage: randflake lease release -owner TOKEN [-last-used TIME] [-store STORE]

Gives a lease back, once nothing uses it any more. A TIME that is too early can repeat IDs.

  -owner TOKEN      the owner that "lease acquire" printed
  -last-used TIME   the last second that was really embedded, such as 2025-01-31T12:00:00Z, or
                    "unused" if none was: the nodes are free from the next one. Without it, they
                    are when the lease would have ended.
` + leaseStoreUsage

func (t *tool) runLeaseRelease(ctx context.Context, args []string) error {
	flags := newFlags("lease release", leaseReleaseUsage)
	var h home
	var owner lease.Token
	var used lastUsed
	flags.path(&h.store, "store")
	flags.Func("owner", "", func(text string) error { return owner.UnmarshalText([]byte(text)) })
	flags.Func("last-used", "", used.set)
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if owner == (lease.Token{}) {
		return flags.wrong("-owner is missing: randflake lease list shows the owners")
	}
	return t.withStore(ctx, &h, func(ctx context.Context, space *store.Store) error {
		leases := lease.On(space)
		records, err := leases.List(ctx)
		if err != nil {
			return err
		}
		for _, rec := range records {
			if rec.Owner == owner {
				return used.release(ctx, leases, rec)
			}
		}
		return fmt.Errorf("no lease of owner %v in %s: it was released or, after its end, taken over", owner, h.place)
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
	t, err := parseTime(text)
	if err != nil {
		return fmt.Errorf(`%w, or "unused"`, err)
	}
	*u = lastUsed{given: true, second: t.Unix()}
	return nil
}

// parseTime reads a time on the command line.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, errors.New("want a time such as 2025-01-31T12:00:00Z")
	}
	return t, nil
}

// release releases rec. A second outside the lease is a mistake that it does not guess about.
func (u lastUsed) release(ctx context.Context, leases lease.Store, rec lease.Record) error {
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
	return leases.Release(ctx, rec, time.Unix(second, 0))
}
