package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
)

// A client shows its lease with each renewal. The service compares it with the data, and a lease that is newer than the
// data shows that data was lost. So each lease is signed for the principal that gets it: it can't be forged, nor used
// by another principal.
//
// The key is the incarnation of the space: 128 random bits, made when the space was created, which only readers of the
// store know. So all replicas have it, on every engine, without configuration. An older copy of the data has it too, so
// that a holder's newer record is still believed there. If another space has replaced this one, it remembers the old
// key, and a floor protects the old leases.

// sendLease returns the signed message of a record for the caller.
func (c *call) sendLease(r lease.Record) *api.Lease {
	r.Signature = c.sign(c.state.Store.Assume().Meta.Incarnation, r)
	return wire.Lease(r)
}

func (c *call) sign(key string, r lease.Record) (signature lease.Token) {
	mac := hmac.New(sha256.New, []byte("lease signed by randflaked\n"+key))
	fmt.Fprintf(mac, "%s %d %d %x %x %d %d %d %d", c.who.Name, r.FirstNode, r.LastNode, r.Owner[:], r.Change[:], r.Changed, r.Version, r.Start, r.HighWater)
	copy(signature[:], mac.Sum(nil))
	return signature
}

// signed reports whether the service has sent this record to the caller, from this space or from the one that it
// replaced.
func (c *call) signed(ctx context.Context, r lease.Record) (bool, error) {
	by := func(key string) bool {
		want := c.sign(key, r)
		return key != "" && hmac.Equal(want[:], r.Signature[:])
	}
	if meta := c.state.Store.Assume().Meta; by(meta.Incarnation) || by(meta.Predecessor) {
		return true, nil
	}
	meta, err := c.state.Store.Info(ctx) // another replica may have found another space in its place
	return err == nil && (by(meta.Incarnation) || by(meta.Predecessor)), err
}

// held returns the record that the caller sent. Without the right signature it fails: with a *lease.LostError if the data
// has another record, and otherwise the call is denied.
func (s *Server) held(ctx context.Context, c *call, sent *api.Lease) (lease.Record, error) {
	held, err := wire.Record(sent)
	if err != nil {
		return held, err
	}
	if ok, err := c.signed(ctx, held); ok || err != nil {
		return held, err
	}
	shown := held
	shown.Version = 0 // so that it does not show that data was lost
	found, err := c.state.Leases.Lookup(ctx, shown)
	switch {
	case err != nil:
	case found.Version != held.Version || found.Change != held.Change:
		err = &lease.LostError{FirstNode: held.FirstNode, LastNode: held.LastNode, Others: found.Start, Why: "its record has changed"}
	default:
		err = s.refuse(c, fmt.Errorf("%w: the lease is another principal's, or not as the service sent it: want that of the newest answer, with its signature", access.ErrDenied))
	}
	return held, err
}
