// Package audit writes who got what, a line of JSON each, and answers from such lines whose lease made an ID. No secret,
// token or key is in a line; a lease goes by the first digits of a hash of its owner's token.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/randflake/randflake/lease"
)

// What lines tell of.
const (
	Grant      = "grant"
	Renewal    = "renewal failed"
	Release    = "release"
	Denial     = "denial"
	Inspection = "inspection"
	Mint       = "mint"
	Revocation = "revocation"
	ReportLoss = "report-loss"
	Secret     = "secret given"
)

// A Log writes lines. It is safe for concurrent use.
type Log struct{ lines *slog.Logger }

// New returns a log that writes to w, which takes each line in one call.
func New(w io.Writer) *Log { return &Log{slog.New(slog.NewJSONHandler(w, nil))} }

// Write writes a line on what a principal did in a space, which may be a long name of none.
func (l *Log) Write(what, principal, space string, more ...any) {
	space = fmt.Sprintf("%.100s", space)
	l.lines.Info(what, append([]any{"principal", principal, "space", space}, more...)...)
}

// Name returns how a lease goes in lines.
func Name(owner lease.Token) string {
	hash := sha256.Sum256(owner[:])
	return hex.EncodeToString(hash[:6])
}

// Terms are what a line tells of a lease.
func Terms(r lease.Record) []any {
	return []any{"lease", Name(r.Owner), "first_node", r.FirstNode, "last_node", r.LastNode, "start", r.Start, "high_water", r.HighWater}
}

// Leases returns a store that writes a line for each lease that a principal gets, can't renew, and gives back.
func (l *Log) Leases(store lease.Source, principal, space string) lease.Source {
	return &leases{store, l, principal, space}
}

type leases struct {
	lease.Source
	log              *Log
	principal, space string
}

func (s *leases) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	r, err := s.Source.Acquire(ctx, req)
	if err == nil {
		s.log.Write(Grant, s.principal, s.space, Terms(r)...)
	}
	return r, err
}

func (s *leases) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	r, err := s.Source.Renew(ctx, held, renewal)
	if err != nil {
		why := "the store failed, or refused"
		if lost := (*lease.LostError)(nil); errors.As(err, &lost) {
			why = lost.Why
		}
		s.log.Write(Renewal, s.principal, s.space, append(Terms(held), "why", why)...)
	}
	return r, err
}

func (s *leases) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	err := s.Source.Release(ctx, held, lastUsed)
	if err == nil {
		s.log.Write(Release, s.principal, s.space, append(Terms(held), "last_used", lastUsed.Unix())...)
	}
	return err
}
