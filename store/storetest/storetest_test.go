package storetest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
)

func startMemory(t *testing.T) func(t *testing.T) store.Engine {
	m := NewMemory()
	m.SetClock(time.Now)
	return func(t *testing.T) store.Engine { return m.Connect() }
}

func TestMemory(t *testing.T) { Run(t, startMemory) }

// A recorder keeps what a check reports.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	reports []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// findings returns what the check called name reports of engines that change makes of good ones.
func findings(t *testing.T, name string, change func(store.Engine) store.Engine) []string {
	connect := startMemory(t)
	r := &recorder{TB: t}
	w := newTestbed(t, r, func(t *testing.T) store.Engine { return change(connect(t)) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, c := range checks {
			if c.name == name {
				c.run(w)
				return
			}
		}
		t.Errorf("no check is called %q", name)
	}()
	<-done
	return r.reports
}

// wantFound wants each of the checks called names to report something. Some calls of a check are made at once: it is played
// again where they happened to be made in turn, as on a busy machine.
func wantFound(t *testing.T, names string, change func(store.Engine) store.Engine) {
	for name := range strings.FieldsSeq(names) {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				if found := findings(t, name, change); len(found) > 0 {
					t.Logf("%.600s", found[0])
					return
				}
			}
			t.Error("the check found nothing")
		})
	}
}

// TestBugs is the negative control of the suite: each bug is found by the checks that are named.
func TestBugs(t *testing.T) {
	found := map[Bug]string{
		IgnoresFirst:  "Calls Concurrent Counter Meta",
		IgnoresValues: "Calls Concurrent",
		EmptyIsAbsent: "Calls",
		TwoSteps:      "Concurrent Counter WriteSkew Meta",
		LosesLast:     "Calls Counter WriteSkew Meta Close",
		RepeatsSwaps:  "Prepare Context Close",
		RepeatsReads:  "Meta",
		LeavesOut:     "Calls",
		OutOfOrder:    "Calls",
		NoPosition:    "Calls Concurrent Counter WriteSkew Meta",
	}
	for _, bug := range Bugs() {
		t.Run(string(bug), func(t *testing.T) {
			if found[bug] == "" {
				t.Fatal("which check finds it?")
			}
			wantFound(t, found[bug], func(e store.Engine) store.Engine { return Plant(e, bug) })
		})
	}
}

// TestCallsWithinBounds keeps the suite from asking for what an engine need not do.
func TestCallsWithinBounds(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9/_.-]{1,100}$`)
	Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		m := NewMemory()
		return func(t *testing.T) store.Engine {
			return Intercept(m.Connect(), func(ctx context.Context, c Call, e store.Engine) (store.Answer, error) {
				size := 0
				for _, names := range [][]string{c.Names, namesOf(c.Expect), namesOf(c.Put)} {
					for i, name := range names {
						if !valid.MatchString(name) || slices.Contains(names[:i], name) || i >= store.MaxEntries {
							t.Errorf("%s: name %d is %q", c, i, name)
						}
					}
				}
				for _, entry := range slices.Concat(c.Put, c.Expect) {
					if size += len(entry.Value); len(entry.Value) > store.MaxValue {
						t.Errorf("%s: value of %d bytes", c, len(entry.Value))
					}
				}
				if c.Page.Limit > store.MaxPage || size > 1<<20 {
					t.Errorf("%s: %d bytes, or page of %d", c, size, c.Page.Limit)
				}
				return c.On(ctx, e)
			})
		}
	})
}

// altered is an engine with some methods replaced.
type altered struct {
	store.Engine
	read    func(context.Context, []string, store.Page) (store.Answer, error)
	swap    func(ctx context.Context, expect, put []store.Entry) (store.Answer, error)
	prepare func(context.Context) error
	close   func() error
	name    string
}

func (a altered) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	if a.read != nil {
		return a.read(ctx, names, page)
	}
	return a.Engine.Read(ctx, names, page)
}

func (a altered) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	if a.swap != nil {
		return a.swap(ctx, expect, put)
	}
	return a.Engine.Swap(ctx, expect, put)
}

func (a altered) Prepare(ctx context.Context) error {
	if a.prepare != nil {
		return a.prepare(ctx)
	}
	return a.Engine.Prepare(ctx)
}

func (a altered) Close() error {
	if a.close != nil {
		return a.close()
	}
	return a.Engine.Close()
}

func (a altered) String() string { return a.name }

// answering is altered with answers to Read and Swap changed.
func answering(e store.Engine, change func(*store.Answer)) store.Engine {
	return altered{Engine: e, name: "altered",
		read: func(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
			answer, err := e.Read(ctx, names, page)
			change(&answer)
			return answer, err
		},
		swap: func(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
			answer, err := e.Swap(ctx, expect, put)
			change(&answer)
			return answer, err
		},
	}
}

// TestOtherBugs tests what is not worth a Bug.
func TestOtherBugs(t *testing.T) {
	lineage := 0
	for _, tt := range []struct {
		name, found string
		change      func(e store.Engine) store.Engine
	}{
		{"none", "", func(e store.Engine) store.Engine { return altered{Engine: e, name: "altered"} }},
		{"no name", "Prepare", func(e store.Engine) store.Engine { return altered{Engine: e} }},
		{"password in the name", "Prepare", func(e store.Engine) store.Engine { return altered{Engine: e, name: "x://me:word@host/"} }},
		{"open after Close", "Close", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered", close: func() error { return nil }}
		}},
		{"contexts ignored", "Context", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered",
				swap: func(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
					return e.Swap(context.WithoutCancel(ctx), expect, put)
				}}
		}},
		{"put though the context is done", "Context", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered",
				swap: func(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
					answer, err := e.Swap(context.WithoutCancel(ctx), expect, put)
					return answer, errors.Join(err, ctx.Err())
				}}
		}},
		{"prepared once only", "Prepare", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered", prepare: func(ctx context.Context) error {
				if _, err := e.Read(ctx, nil, store.Page{}); err == nil {
					return errors.New("exists")
				}
				return e.Prepare(ctx)
			}}
		}},
		{"prepared anew", "Prepare", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered", prepare: func(ctx context.Context) error {
				e.(*handle).Wipe()
				return e.Prepare(ctx)
			}}
		}},
		{"first put only", "Calls Concurrent", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered",
				swap: func(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
					return e.Swap(ctx, expect, put[:min(1, len(put))])
				}}
		}},
		{"put kept by reference", "Prepare", func(e store.Engine) store.Engine {
			var kept []store.Entry
			return altered{Engine: e, name: "altered",
				swap: func(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
					answer, err := e.Swap(ctx, expect, put)
					kept = put
					return answer, err
				},
				read: func(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
					if len(kept) > 0 {
						e.Swap(ctx, nil, kept)
					}
					return e.Read(ctx, names, page)
				}}
		}},
		{"page of another moment", "Concurrent", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered",
				read: func(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
					first, err := e.Read(ctx, names, store.Page{})
					if err != nil {
						return first, err
					}
					time.Sleep(time.Millisecond)
					second, err := e.Read(ctx, nil, page)
					second.Named = first.Named
					return second, err
				}}
		}},
		{"found in another order", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) { slices.Reverse(a.Named) })
		}},
		{"not found by failed swaps", "Calls Counter", func(e store.Engine) store.Engine {
			return altered{Engine: e, name: "altered",
				swap: func(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
					answer, err := e.Swap(ctx, expect, put)
					if !answer.Swapped {
						answer.Named = nil
					}
					return answer, err
				}}
		}},
		{"absent is empty", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) {
				for i := range a.Named {
					a.Named[i].Value = append([]byte{}, a.Named[i].Value...)
				}
			})
		}},
		{"empty is absent", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) {
				for i := range a.Named {
					a.Named[i].Value = append([]byte(nil), a.Named[i].Value...)
				}
			})
		}},
		{"empty is absent in pages", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) {
				for i := range a.Page {
					a.Page[i].Value = append([]byte(nil), a.Page[i].Value...)
				}
			})
		}},
		{"lineage of each handle", "Calls", func(e store.Engine) store.Engine {
			lineage++
			own := fmt.Sprint(lineage)
			return answering(e, func(a *store.Answer) { a.Lineage = own })
		}},
		{"lineage too long", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) { a.Lineage = strings.Repeat("x", 201) })
		}},
		{"position falls", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) { a.Position = 1000 - a.Position })
		}},
		{"clock of another year", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) { a.Time = a.Time.AddDate(1, 0, 0) })
		}},
		{"time of swaps only", "Calls", func(e store.Engine) store.Engine {
			return answering(e, func(a *store.Answer) {
				if !a.Swapped {
					a.Time = time.Time{}
				}
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.found != "" {
				wantFound(t, tt.found, tt.change)
				return
			}
			for _, c := range checks {
				if found := findings(t, c.name, tt.change); len(found) > 0 {
					t.Errorf("%s found %s", c.name, found)
				}
			}
		})
	}
}
