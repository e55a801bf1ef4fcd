package leasetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/randflake/randflake/lease"
)

// A Call is a Read or a Swap.
type Call struct {
	Names []string

	Swap        bool
	Expect, Put []lease.Entry
}

// On makes the call.
func (c Call) On(ctx context.Context, engine lease.Engine) (lease.Answer, error) {
	if c.Swap {
		return engine.Swap(ctx, c.Expect, c.Put)
	}
	return engine.Read(ctx, c.Names...)
}

// String writes the call for a message.
func (c Call) String() string {
	if c.Swap {
		return fmt.Sprintf("Swap that expects %s, and puts %s", show(c.Expect), show(c.Put))
	}
	return fmt.Sprintf("Read of %.200s", fmt.Sprint(c.Names))
}

// An Interceptor makes a call on engine, changed or not, at once, later or not at all, and returns what
// the caller is to see. Several goroutines may call it at once, and it may make calls of its own.
type Interceptor func(ctx context.Context, c Call, engine lease.Engine) (lease.Answer, error)

// Intercept returns engine with i in front of Read and Swap.
func Intercept(engine lease.Engine, i Interceptor) lease.Engine { return intercepted{engine, i} }

type intercepted struct {
	lease.Engine
	by Interceptor
}

func (e intercepted) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.by(ctx, Call{Names: slices.Clone(names)}, e.Engine)
}

func (e intercepted) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	return e.by(ctx, Call{Swap: true, Expect: clone(expect), Put: clone(put)}, e.Engine)
}

// data is what an engine holds: [Memory] is made of it, and the suite compares answers with it.
type data map[string][]byte

// do carries out a call.
func (d data) do(c Call) (answer lease.Answer) {
	answer.Entries = d.get(append(namesOf(c.Expect), c.Names...))
	if answer.Swapped = c.Swap && equal(answer.Entries, c.Expect); answer.Swapped {
		d.put(clone(c.Put))
	}
	return answer
}

func (d data) get(names []string) (entries []lease.Entry) {
	for _, name := range names {
		entries = append(entries, lease.Entry{Name: name, Value: bytes.Clone(d[name])})
	}
	return entries
}

func (d data) list(prefix, after string, limit int) []lease.Entry {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(d)), func(n string) bool { return !strings.HasPrefix(n, prefix) || n <= after })
	return d.get(names[:min(limit, len(names))])
}

func (d data) put(entries []lease.Entry) {
	for _, e := range entries {
		d[e.Name] = e.Value
	}
}

func namesOf(entries []lease.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// equal tells no value from an empty one.
func equal(a, b []lease.Entry) bool {
	return slices.EqualFunc(a, b, func(a, b lease.Entry) bool { return reflect.DeepEqual(a, b) })
}

func clone(entries []lease.Entry) []lease.Entry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		entries[i].Value = bytes.Clone(e.Value)
	}
	return entries
}

// show writes entries for a message.
func show(entries []lease.Entry) string {
	var s strings.Builder
	for _, e := range entries {
		value := fmt.Sprintf("=%.20q", e.Value)
		if e.Value == nil {
			value = " absent"
		}
		fmt.Fprintf(&s, ", %s%s", e.Name, value)
	}
	return fmt.Sprintf("%d entries (%.500s)", len(entries), strings.TrimPrefix(s.String(), ", "))
}
