package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var errLost = errors.New("connection lost")

func put(t *testing.T, engine store.Engine, value string) store.Answer {
	t.Helper()
	answer, err := engine.Swap(t.Context(), nil, []store.Entry{{Name: "a", Value: []byte(value)}})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func wantValue(t *testing.T, engine store.Engine, want string) store.Answer {
	t.Helper()
	answer, err := engine.Read(t.Context(), []string{"a"}, store.Page{})
	if err != nil || string(answer.Named[0].Value) != want {
		t.Errorf("found %q, error %v, want %q", answer.Named, err, want)
	}
	return answer
}

func newMemory(t *testing.T) (*storetest.Memory, store.Engine) {
	m := storetest.NewMemory()
	engine := m.Connect()
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m, engine
}

func TestMemoryLosesData(t *testing.T) {
	m, engine := newMemory(t)
	early := put(t, engine, "old")
	backup := m.Snapshot()
	late := put(t, engine, "new")

	m.Restore(backup)
	if got := wantValue(t, engine, "old"); got.Position != early.Position || got.Lineage != early.Lineage {
		t.Errorf("after Restore: %+v, want the evidence of then, %+v", got, early)
	}
	put(t, engine, "newer")
	backup.Position, backup.Lineage = late.Position, "restored"
	m.Restore(backup)
	if got := wantValue(t, engine, "old"); got.Position != late.Position || got.Lineage != "restored" {
		t.Errorf("after Restore with other evidence: %+v", got)
	}
	m.SetLineage("promoted")
	if got := wantValue(t, engine, "old"); got.Lineage != "promoted" {
		t.Errorf("after SetLineage: %+v", got)
	}
	m.Wipe()
	if _, err := engine.Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrNoStore) {
		t.Errorf("Read after Wipe: error %v, want ErrNoStore", err)
	}
	engine.Prepare(t.Context())
	if got := wantValue(t, engine, ""); got.Position != 0 {
		t.Errorf("after Wipe: %+v", got)
	}
}

func TestMemoryClock(t *testing.T) {
	m, engine := newMemory(t)
	if got := put(t, engine, "x"); !got.Time.IsZero() {
		t.Errorf("without a clock: time %v", got.Time)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m.SetClock(func() time.Time { return noon })
	if got := wantValue(t, engine, "x"); !got.Time.Equal(noon) {
		t.Errorf("time %v, want %v", got.Time, noon)
	}
}

func TestMemoryCounts(t *testing.T) {
	m, engine := newMemory(t)
	put(t, engine, "x")
	wantValue(t, m.Connect(), "x")
	wantValue(t, engine, "x")
	if m.Reads() != 2 || m.Swaps() != 1 {
		t.Errorf("%d reads, %d swaps, want 2 and 1", m.Reads(), m.Swaps())
	}
}

// The answer to a Swap is lost after it took effect, or before; another one takes effect when its caller has
// given up.
func ExampleIntercept() {
	ctx := context.Background()
	data := storetest.NewMemory()
	engine := data.Connect()
	engine.Prepare(ctx)

	var late func() (store.Answer, error)
	for what, fault := range []storetest.Interceptor{
		func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			c.On(ctx, e)
			return store.Answer{}, errLost
		},
		func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			return store.Answer{}, errLost
		},
		func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			late = func() (store.Answer, error) { return c.On(context.WithoutCancel(ctx), e) }
			return store.Answer{}, errLost
		},
	} {
		faulty := storetest.Intercept(data.Connect(), fault)
		_, err := faulty.Swap(ctx, nil, []store.Entry{{Name: "a", Value: fmt.Append(nil, what)}})
		answer, _ := engine.Read(ctx, []string{"a"}, store.Page{})
		fmt.Printf("%v, and the entry is %s\n", err, answer.Named[0].Value)
	}
	answer, err := late()
	fmt.Println(answer.Swapped, err)
	// Output:
	// connection lost, and the entry is 0
	// connection lost, and the entry is 0
	// connection lost, and the entry is 0
	// true <nil>
}
