package store_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/store"
)

// A copier makes a deep copy of what a process has in memory, as when its machine is cloned, but for its connections and
// clocks. No goroutine may use that memory meanwhile.
type copier struct {
	engine store.Engine
	clock  func() time.Time
	made   map[unsafe.Pointer]reflect.Value
}

// shared are types of what never changes, and of queues in which nobody waits.
var shared = map[reflect.Type]bool{
	reflect.TypeFor[*store.Meta](): true, reflect.TypeFor[*store.View](): true, reflect.TypeFor[[]byte](): true,
	reflect.TypeFor[*slog.Logger](): true, reflect.TypeFor[*queue.Queue](): true, reflect.TypeFor[error](): true,
	reflect.TypeFor[*time.Location](): true,
}

func (c *copier) copy(to, from reflect.Value) {
	t := from.Type()
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[store.Engine]():
		to.Set(reflect.ValueOf(c.engine))
	case t == reflect.TypeFor[func() time.Time]() && !from.IsNil():
		to.Set(reflect.ValueOf(c.clock))
	case t == reflect.TypeFor[*time.Timer](): // the pause is over
	case shared[t] || kind < reflect.Array || kind == reflect.Array && t.Elem().Kind() < reflect.Array || kind == reflect.String || kind == reflect.Func || from.IsZero():
		to.Set(from)
	case kind == reflect.Pointer:
		if _, ok := c.made[from.UnsafePointer()]; !ok {
			made := reflect.New(t.Elem())
			c.made[from.UnsafePointer()] = made
			c.copy(made.Elem(), from.Elem())
		}
		to.Set(c.made[from.UnsafePointer()])
	case kind == reflect.Interface:
		old, made := reflect.New(from.Elem().Type()).Elem(), reflect.New(from.Elem().Type()).Elem()
		old.Set(from.Elem())
		c.copy(made, old)
		to.Set(made)
	case kind == reflect.Struct:
		for i := range t.NumField() {
			c.copy(field(to, i), field(from, i))
		}
	case kind == reflect.Slice:
		to.Set(reflect.MakeSlice(t, from.Len(), from.Len()))
		fallthrough
	case kind == reflect.Array:
		for i := range from.Len() {
			c.copy(to.Index(i), from.Index(i))
		}
	case kind == reflect.Chan:
		to.Set(reflect.MakeChan(t, from.Cap()))
	default:
		panic(fmt.Sprint("copy of ", t))
	}
}

// field returns a field of a struct, also if it is not exported. That of an atomic.Pointer[T] is a *T.
func field(v reflect.Value, i int) reflect.Value {
	t := v.Field(i).Type()
	if t.Kind() == reflect.UnsafePointer {
		t = reflect.PointerTo(v.Field(0).Type().Elem().Elem())
	}
	return reflect.NewAt(t, v.Field(i).Addr().UnsafePointer()).Elem()
}

// tallies are names of types that only count, for people or for how long runs are, and of sightings, which scenes describe.
var tallies = map[string]bool{"books": true, "mark": true, "calls": true, "Info": true, "settings": true, "Time": true, "sighting": true}

// describe writes what a process has in memory: the same text for processes that do the same from now on, up to tokens.
func describe(b *strings.Builder, v reflect.Value, met map[unsafe.Pointer]bool) {
	t := v.Type()
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[[]byte]():
		fmt.Fprintf(b, "%s ", v.Bytes())
	case shared[t] || tallies[t.Name()] || t == reflect.TypeFor[store.Engine]() || kind == reflect.Chan || kind == reflect.Func:
	case kind == reflect.Pointer || kind == reflect.Interface:
		if v.IsNil() || kind == reflect.Pointer && met[v.UnsafePointer()] {
			return
		}
		if kind == reflect.Pointer {
			met[v.UnsafePointer()] = true
			describe(b, v.Elem(), met)
		} else if v.Elem().Kind() == reflect.Pointer {
			describe(b, v.Elem(), met)
		}
	case kind == reflect.Struct:
		for i := range t.NumField() {
			describe(b, field(v, i), met)
		}
		b.WriteByte('\n')
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		fmt.Fprintf(b, "%x ", v.Slice(0, v.Len()).Bytes())
	case kind == reflect.Slice:
		for i := range v.Len() {
			describe(b, v.Index(i), met)
		}
	case kind != reflect.Array:
		fmt.Fprint(b, v.Interface(), " ")
	}
}
