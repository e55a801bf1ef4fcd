package broken

import (
	"context"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// Forget returns leases that open the store for each call anew.
func Forget(open func(context.Context) (*store.Space, error)) lease.Source {
	return forgetful{open: open}
}

// A forgetful has no methods but those that workers call.
type forgetful struct {
	lease.Source
	open func(context.Context) (*store.Space, error)
}

func (f forgetful) do(ctx context.Context, call func(lease.Source) error) error {
	space, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	return call(lease.On(space))
}

func (f forgetful) Acquire(ctx context.Context, req lease.Request) (rec lease.Record, err error) {
	err = f.do(ctx, func(s lease.Source) error { rec, err = s.Acquire(ctx, req); return err })
	return rec, err
}

func (f forgetful) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (rec lease.Record, err error) {
	err = f.do(ctx, func(s lease.Source) error { rec, err = s.Renew(ctx, held, renewal); return err })
	return rec, err
}

func (f forgetful) Lookup(ctx context.Context, held lease.Record) (rec lease.Record, err error) {
	err = f.do(ctx, func(s lease.Source) error { rec, err = s.Lookup(ctx, held); return err })
	return rec, err
}

func (f forgetful) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return f.do(ctx, func(s lease.Source) error { return s.Release(ctx, held, lastUsed) })
}
