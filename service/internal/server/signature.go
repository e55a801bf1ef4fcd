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

// A lease that a client shows is the service's own word: what it says is compared with the data, and shows that data was
// lost where that knows less. So it is signed for the principal who gets it. Nobody can make one up, nor use that of
// another principal.
//
// The key is the incarnation of the space, 128 random bits that are there from its creation on, and that only who reads the
// store knows. So all replicas have it, in whichever engine, without any configuration; a copy of the data has it too, in
// which a holder's newer record is to be believed; and where another space has come in its place, so has a floor.

// sendLease returns a record as it is sent to the caller.
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

// signed reports whether the service has sent this record to the caller, in the space as it is, or as the one in its place.
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

// held returns the leases of the call's space, and the one that the caller says it has. It fails with a *lease.LostError
// where that is not as the caller says, and is denied where it is another principal's.
func (s *Server) held(ctx context.Context, c *call, sent *api.Lease) (lease.Source, lease.Record, error) {
	leases, err := s.leases(c)
	if err != nil {
		return nil, lease.Record{}, err
	}
	held, err := wire.Record(sent)
	if err != nil {
		return nil, held, err
	}
	if ok, err := c.signed(ctx, held); ok || err != nil {
		return leases, held, err
	}
	held.HighWater = 0 // so that it does not show that data was lost
	found, err := c.state.Leases.Lookup(ctx, held)
	switch {
	case err != nil:
	case found.Version != held.Version || found.Change != held.Change:
		err = &lease.LostError{FirstNode: held.FirstNode, LastNode: held.LastNode, Others: found.Start, Why: "its record has changed"}
	default:
		err = s.refuse(c, fmt.Errorf("%w: the lease is another principal's, or not as the service sent it: want that of the newest answer, with its signature", access.ErrDenied))
	}
	return leases, held, err
}
