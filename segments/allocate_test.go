package segments_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/segments"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestAllocate: a token gets one block, however often it asks, from whichever handle; and no number is in two blocks.
func TestAllocate(t *testing.T) {
	memory := storetest.NewMemory()
	space := newSpace(t, memory.Connect())
	if _, err := segments.On(space).Create(t.Context(), "orders", segments.WithStride(3)); err != nil {
		t.Fatal(err)
	}
	const callers = 50
	blocks := make([]segments.Block, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			token := segments.NewToken(time.Now())
			token[15] = byte(i) // one place for a receipt each
			for range 3 {
				again, err := store.Open(t.Context(), memory.Connect())
				if err != nil {
					t.Error(err)
					return
				}
				b, _, err := segments.On(again).Allocate(t.Context(), "orders", 10, token)
				if err != nil || blocks[i].Count > 0 && b != blocks[i] {
					t.Errorf("block %+v, error %v, want %+v again", b, err, blocks[i])
				}
				blocks[i] = b
			}
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, b := range blocks {
		for k := range b.Count {
			n := b.First + int64(k)*b.Stride
			if seen[n] {
				t.Errorf("%d is in two blocks", n)
			}
			seen[n] = true
		}
	}
	if info, err := segments.On(space).Get(t.Context(), "orders"); err != nil || len(seen) != 10*callers || info.Taken != 10*callers {
		t.Errorf("%d numbers, taken %d, error %v, want %d", len(seen), info.Taken, err, 10*callers)
	}
}

// TestReturnBlock: what is left of a block goes back once, where the counter has not changed since, and its token is of no use then.
func TestReturnBlock(t *testing.T) {
	space := newSpace(t, storetest.NewMemory().Connect())
	counters, ctx := segments.On(space), t.Context()
	if _, err := counters.Create(ctx, "orders"); err != nil {
		t.Fatal(err)
	}
	allocate := func(n uint64) segments.Block {
		b, _, err := counters.Allocate(ctx, "orders", n, segments.NewToken(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	give := func(b segments.Block, unused uint64, want bool) {
		t.Helper()
		if done, err := counters.ReturnBlock(ctx, "orders", b, unused); done != want || err != nil {
			t.Errorf("return %d of %+v: %v, error %v, want %v", unused, b, done, err, want)
		}
	}
	a := allocate(10)
	give(a, 4, true)
	b := allocate(4) // the numbers that went back
	if b.First != 7 {
		t.Errorf("the next block begins at %d, want 7", b.First)
	}
	give(a, 4, true) // again, as after a lost answer, and nothing is changed
	give(a, 3, false)
	if _, _, err := counters.Allocate(ctx, "orders", 10, a.Token); !errors.Is(err, segments.ErrInvalidToken) {
		t.Errorf("the token of a block that went back in part: error %v, want ErrInvalidToken", err)
	}
	allocate(1)
	give(b, 1, false)
	c := allocate(5)
	give(c, 5, true)
	if d := allocate(5); d.First != c.First {
		t.Errorf("block %+v, want the numbers of %+v, which went back", d, c)
	}
	give(c, 5, true) // though there is a block with the same numbers now, which stays
	if _, err := counters.ReturnBlock(ctx, "orders", b, 5); !errors.Is(err, segments.ErrInvalidOption) {
		t.Errorf("more than the block has: error %v, want ErrInvalidOption", err)
	}
}

// TestAllocateRefuses: what can't be is refused, and a token that is not fresh above all.
func TestAllocateRefuses(t *testing.T) {
	space := newSpace(t, storetest.NewMemory().Connect())
	counters := segments.On(space)
	for _, name := range []string{"orders", "other"} {
		if _, err := counters.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	used := segments.NewToken(time.Now())
	if _, _, err := counters.Allocate(t.Context(), "other", 1, used); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what, name string
		n          uint64
		token      segments.Token
		want       error
	}{
		{"a token that lasts", "orders", 1, segments.Token([]byte("web-1.prod.local")), segments.ErrInvalidToken},
		{"an old token", "orders", 1, segments.NewToken(time.Now().Add(-time.Hour)), segments.ErrInvalidToken},
		{"a token of another counter", "orders", 1, used, segments.ErrInvalidToken},
		{"no numbers", "orders", 0, segments.NewToken(time.Now()), segments.ErrInvalidOption},
		{"no such counter", "none", 1, segments.NewToken(time.Now()), segments.ErrNoCounter},
		{"no such name", "No", 1, segments.NewToken(time.Now()), segments.ErrInvalidName},
	} {
		if _, _, err := counters.Allocate(t.Context(), tt.name, tt.n, tt.token); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.what, err, tt.want)
		}
	}
}

// TestAllocateAfterLostReply: the block whose reply was lost is the one that the same token gets.
func TestAllocateAfterLostReply(t *testing.T) {
	lose := false
	engine := storetest.Intercept(storetest.NewMemory().Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		answer, err := c.On(ctx, e)
		if c.Swap && lose {
			lose = false
			return store.Answer{}, errors.New("reply lost")
		}
		return answer, err
	})
	counters := segments.On(newSpace(t, engine))
	if _, err := counters.Create(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	token := segments.NewToken(time.Now())
	lose = true
	if _, _, err := counters.Allocate(t.Context(), "orders", 10, token); err == nil {
		t.Fatal("no reply was lost")
	}
	b, _, err := counters.Allocate(t.Context(), "orders", 10, token)
	if info, _ := counters.Get(t.Context(), "orders"); err != nil || b.First != 1 || b.Count != 10 || info.Taken != 10 {
		t.Errorf("block %+v of %d numbers taken, error %v, want the first ten numbers", b, info.Taken, err)
	}
}
