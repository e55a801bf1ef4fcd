package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestRotate: a key is added to a space only where all leases end before it begins, even one of a clock that was fast. A
// generator with the key then makes IDs on both sides of its beginning, and one without it stops there.
func TestRotate(t *testing.T) {
	data, clock := storetest.NewMemory(), storetest.NewClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	space, err := store.Create(t.Context(), data.Connect(), store.WithClock(clock.Now), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	old := randflake.NewSecret()
	generator := func(secret randflake.Secret) (*randflake.Generator, func() error) {
		t.Helper()
		held, err := lease.On(space).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: 10 * time.Minute, Keys: store.KeysOf(secret)})
		if err != nil {
			t.Fatal(err)
		}
		g, err := randflake.New(secret, held.Lease(), randflake.WithClock(clock.Now))
		if err != nil {
			t.Fatal(err)
		}
		return g, func() error {
			renewed, err := lease.On(space).Renew(t.Context(), held, lease.Renewal{TTL: 10 * time.Minute, Keys: store.KeysOf(secret)})
			if err == nil {
				held, err = renewed, g.Extend(renewed.Lease().End)
			}
			return err
		}
	}
	without, renewWithout := generator(old)
	next := func(wait time.Duration) randflake.Secret {
		secret, err := old.Then(randflake.NewSecret(), clock.Now().Add(wait))
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	secret := next(11 * time.Minute)
	node := without.Lease().FirstNode
	name := fmt.Sprintf("default/n/%05x", node)
	answer, err := data.Connect().Read(t.Context(), []string{name}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	right, end := string(answer.Named[0].Value), without.Lease().End.Unix()-1
	fast := strings.Replace(right, fmt.Sprint(end), fmt.Sprint(clock.Now().Unix()+11*60), 1)
	for _, c := range []struct {
		name, record string
		secret       randflake.Secret
		want         error
	}{
		{"too early", "", next(11*time.Minute - time.Second), store.ErrInvalidOption},
		{"before the end of a lease", fast, secret, store.ErrInvalidOption},
		{"another secret", "", randflake.NewSecret(), store.ErrWrongSecret},
		{"no secret", "", randflake.Secret{}, randflake.ErrInvalidSecret},
		{"the next key", right, secret, nil},
		{"the next key again", "", secret, nil},
	} {
		if c.record != "" {
			storetest.Put(t, data.Connect(), name, c.record)
		}
		if err := lease.Rotate(t.Context(), space, c.secret); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	with, renewWith := generator(secret)
	from := secret.Keys()[1].From
	for ; clock.Now().Before(from.Add(3 * time.Minute)); clock.Advance(30 * time.Second) {
		left := !clock.Now().Before(from)
		if err := renewWithout(); errors.Is(err, store.ErrWrongSecret) != left {
			t.Errorf("renewed without the key at %v, which begins at %v: %v", clock.Now(), from, err)
		}
		if _, err := without.Generate(); errors.Is(err, randflake.ErrLeaseEnded) != left {
			t.Errorf("generated without the key at %v: %v", clock.Now(), err)
		}
		id, err := with.Generate()
		if err := errors.Join(err, renewWith()); err != nil {
			t.Fatalf("with the key at %v: %v", clock.Now(), err)
		}
		made := secret.Keys()[map[bool]int{true: 1}[left]].Secret
		if f := with.Cipher().Inspect(id); !f.Time.Equal(clock.Now()) || randflake.NewCipher(made).Inspect(id) != f {
			t.Errorf("made at %v: %v opens to %+v", clock.Now(), id, f)
		}
	}
}

// TestRotateMeanwhile: a lease that is granted or renewed by what the space was before Rotate ends before the next key begins.
func TestRotateMeanwhile(t *testing.T) {
	for hooked, what := range []string{"grant", "renewal"} {
		data, clock := storetest.NewMemory(), storetest.NewClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
		space, err := store.Create(t.Context(), data.Connect(), store.WithClock(clock.Now), store.ForNewSecret())
		if err != nil {
			t.Fatal(err)
		}
		from := clock.Now().Add(11 * time.Minute)
		secret, err := randflake.NewSecret().Then(randflake.NewSecret(), from)
		if err != nil {
			t.Fatal(err)
		}
		swaps := 0
		late, err := store.Open(t.Context(), data.Connect(), store.WithClock(clock.Now), store.Through(func(e store.Engine) store.Engine {
			return storetest.Intercept(e, func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
				if c.Swap {
					if swaps++; swaps == hooked+1 {
						clock.Advance(-5 * time.Minute)
						if err := lease.Rotate(ctx, space, secret); err != nil {
							t.Error(err)
						}
						clock.Advance(5 * time.Minute)
					}
				}
				return c.On(ctx, e)
			})
		}))
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Duration(1-hooked) * 5 * time.Minute)
		held, err := lease.On(late).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: 10 * time.Minute})
		if err == nil && hooked == 1 {
			clock.Advance(5 * time.Minute)
			held, err = lease.On(late).Renew(t.Context(), held, lease.Renewal{TTL: 10 * time.Minute})
		}
		if err != nil || !held.Lease().End.Equal(from) {
			t.Errorf("%s: a lease up to %v, %v, want %v", what, held.Lease().End, err, from)
		}
	}
}
