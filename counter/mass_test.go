package counter_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/storetest"
)

// TestManyCounters makes many counters in one store, and finds some of them.
func TestManyCounters(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and many times that elsewhere")
	}
	t.Run("memory", func(t *testing.T) { testManyCounters(t, storetest.NewMemory().Connect(), 131_072) })
	t.Run("directory", func(t *testing.T) {
		directory, err := filestore.New(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		testManyCounters(t, directory, 10_000) // ten times as many take as much longer
	})
}

func testManyCounters(t *testing.T, engine store.Engine, count int) {
	const makers = 256
	name := func(i int) string { return fmt.Sprintf("customer/%06d", i) }
	counters := counter.On(newSpace(t, engine))
	var wg sync.WaitGroup
	for maker := range makers {
		wg.Go(func() {
			for i := maker; i < count; i += makers {
				if _, err := counters.Create(t.Context(), name(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	i := 5000
	for info, err := range counters.List(t.Context(), "customer/005") {
		if err != nil || info.Name != name(i) || info.Next != 1 {
			t.Fatalf("%d: %+v, %v", i, info, err)
		}
		i++
	}
	if i != 6000 {
		t.Errorf("list ends with %d", i)
	}
	for i := 0; i < count; i += count / 4 {
		if n, err := open(t, counters, name(i)).Next(); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", name(i), n, err)
		}
	}
}

// TestManyHandlesAreSmall: a thousand counters in use take less than a KiB each, and no goroutine.
func TestManyHandlesAreSmall(t *testing.T) {
	const count = 1000
	counters := counter.On(newSpace(t, storetest.NewMemory().Connect()))
	var handles [count]*counter.Counter
	for i := range handles {
		if _, err := counters.Create(t.Context(), fmt.Sprint("c", i)); err != nil {
			t.Fatal(err)
		}
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	for i := range handles {
		c, err := counters.Open(t.Context(), fmt.Sprint("c", i), quiet)
		if err != nil {
			t.Fatal(err)
		}
		handles[i] = c
	}
	for range 12 { // numbers, which are a few runs
		for _, c := range handles {
			if _, err := c.Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
			for runtime.NumGoroutine() > goroutines { // the runtime keeps something of each that there was at a time
				runtime.Gosched()
			}
		}
	}
	each := int64(heap()-before) / count
	t.Logf("%d bytes", each)
	if each > 1024 {
		t.Errorf("%d bytes a handle", each)
	}
	for _, c := range handles {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
