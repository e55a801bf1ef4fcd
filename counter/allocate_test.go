package counter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestAllocateAfterLostReply: the run whose reply was lost is the one that the same token gets.
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
	counters := counter.On(newSpace(t, engine))
	if _, err := counters.Create(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	token := counter.NewToken(time.Now())
	lose = true
	if _, _, err := counters.Allocate(t.Context(), "orders", 10, token); err == nil {
		t.Fatal("no reply was lost")
	}
	b, _, err := counters.Allocate(t.Context(), "orders", 10, token)
	if info, _ := counters.Get(t.Context(), "orders"); err != nil || b.First != 1 || b.Count != 10 || info.Taken != 10 {
		t.Errorf("run %+v of %d numbers taken, error %v, want the first ten numbers", b, info.Taken, err)
	}
}
