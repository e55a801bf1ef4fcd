package leasetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/randflake/randflake/store"
)

// A Call is a Read or a Swap.
type Call struct {
	Names []string
	Page  store.Page

	Swap        bool
	Expect, Put []store.Entry
}

// On makes the call.
func (c Call) On(ctx context.Context, engine store.Engine) (store.Answer, error) {
	if c.Swap {
		return engine.Swap(ctx, c.Expect, c.Put)
	}
	return engine.Read(ctx, c.Names, c.Page)
}

// String writes the call for a message.
func (c Call) String() string {
	if c.Swap {
		return fmt.Sprintf("Swap that expects %s, and puts %s", show(c.Expect), show(c.Put))
	}
	return fmt.Sprintf("Read of %.200s and page %+v", fmt.Sprint(c.Names), c.Page)
}

// An Interceptor makes a call on engine, changed or not, at once, later or not at all, and returns what
// the caller is to see. Several goroutines may call it at once, and it may make calls of its own.
type Interceptor func(ctx context.Context, c Call, engine store.Engine) (store.Answer, error)

// Intercept returns engine with i in front of Read and Swap.
func Intercept(engine store.Engine, i Interceptor) store.Engine { return intercepted{engine, i} }

type intercepted struct {
	store.Engine
	by Interceptor
}

func (e intercepted) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	return e.by(ctx, Call{Names: slices.Clone(names), Page: page}, e.Engine)
}

func (e intercepted) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	return e.by(ctx, Call{Swap: true, Expect: clone(expect), Put: clone(put)}, e.Engine)
}

// data is what an engine holds: [Memory] is made of it, and the suite compares answers with it.
type data map[string][]byte

// do carries out a call.
func (d data) do(c Call) (answer store.Answer) {
	answer.Named = d.get(append(namesOf(c.Expect), c.Names...))
	if c.Page.Limit > 0 {
		names := slices.DeleteFunc(slices.Collect(maps.Keys(d)), func(n string) bool { return n < c.Page.From || n >= c.Page.To })
		slices.Sort(names)
		answer.Page = d.get(names[:min(c.Page.Limit, len(names))])
	}
	if answer.Swapped = c.Swap && equal(answer.Named, c.Expect); answer.Swapped {
		d.put(clone(c.Put))
	}
	return answer
}

func (d data) get(names []string) (entries []store.Entry) {
	for _, name := range names {
		entries = append(entries, store.Entry{Name: name, Value: bytes.Clone(d[name])})
	}
	return entries
}

func (d data) put(entries []store.Entry) {
	for _, e := range entries {
		if d[e.Name] = e.Value; e.Value == nil {
			delete(d, e.Name)
		}
	}
}

func namesOf(entries []store.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// equal tells no value from an empty one.
func equal(a, b []store.Entry) bool {
	return slices.EqualFunc(a, b, func(a, b store.Entry) bool { return reflect.DeepEqual(a, b) })
}

func clone(entries []store.Entry) []store.Entry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		entries[i].Value = bytes.Clone(e.Value)
	}
	return entries
}

// show writes entries for a message.
func show(entries []store.Entry) string {
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
