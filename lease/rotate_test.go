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

// TestUnboundSpace: leases that were taken without a secret may reach beyond the beginning of the next key. So Acquire binds a
// space to the first key alone, and leases with several keys end before the second begins until Rotate has added it.
func TestUnboundSpace(t *testing.T) {
	const ttl = 10 * time.Minute // the longest, so the next key begins 11 minutes ahead at least
	clock := storetest.NewClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		begins  time.Duration // from now
		created bool          // for the secret
		moved   bool
		length  time.Duration // of a lease with both keys, 0 if it is refused
		rotated error
	}{
		"begins within MaxTTL": {begins: 5 * time.Minute, length: 5 * time.Minute, rotated: store.ErrInvalidOption},
		"has begun":            {begins: -time.Hour, rotated: store.ErrInvalidOption},
		"begins later":         {begins: 11 * time.Minute, length: ttl},
		"created for both":     {begins: -time.Hour, created: true, length: ttl},
		"moved":                {begins: -time.Hour, created: true, moved: true, length: ttl},
	} {
		t.Run(name, func(t *testing.T) {
			data, withClock := storetest.NewMemory(), store.WithClock(clock.Now)
			secret, err := randflake.NewSecret().Then(randflake.NewSecret(), clock.Now().Add(c.begins))
			if err != nil {
				t.Fatal(err)
			}
			options := []store.Option{withClock, store.ForNewSecret()}
			if c.created {
				options = append(options, store.ForSecret(store.KeysOf(secret)))
			}
			space, err := store.Create(t.Context(), data.Connect(), options...)
			if err != nil {
				t.Fatal(err)
			}
			if c.moved {
				from, err := store.Open(t.Context(), data.Connect(), withClock, store.ForMove())
				if err == nil {
					space, err = store.Create(t.Context(), storetest.NewMemory().Connect(), withClock, store.MovedFrom(from))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			leases := lease.On(space)
			if _, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: ttl}); errors.Is(err, store.ErrWrongSecret) != c.created {
				t.Errorf("without a secret: %v", err)
			}
			got, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: ttl, Keys: store.KeysOf(secret)})
			if length := got.Lease().End.Sub(got.Lease().Start); err != nil && (c.length != 0 || !errors.Is(err, store.ErrWrongSecret)) || err == nil && length != c.length {
				t.Errorf("with both keys: %+v, %v, want a lease of %v", got, err, c.length)
			}
			if err := lease.Rotate(t.Context(), space, secret); !errors.Is(err, c.rotated) {
				t.Errorf("Rotate: %v, want %v", err, c.rotated)
			}
		})
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

// TestRotateAfterWrongClock: nodes that a fast clock leased far ahead keep a key out until the clock is forgiven.
func TestRotateAfterWrongClock(t *testing.T) {
	const year = 365 * 24 * time.Hour
	clock := storetest.NewClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
	space, err := store.Create(t.Context(), storetest.NewMemory().Connect(), store.WithClock(clock.Now), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(year)
	if _, err := lease.On(space).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(-year)
	secret, err := randflake.NewSecret().Then(randflake.NewSecret(), clock.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Rotate(t.Context(), space, secret); !errors.Is(err, store.ErrInvalidOption) || !strings.Contains(err.Error(), "forgive-clock") {
		t.Errorf("with nodes leased for next year: %v", err)
	}
	if _, err := space.ForgiveClock(t.Context(), clock.Now().Add(year)); err != nil {
		t.Fatal(err)
	}
	if err := lease.Rotate(t.Context(), space, secret); err != nil {
		t.Errorf("after the clock was forgiven: %v", err)
	}
}
