package redisstore

import (
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/store"
)

// dumps returns all keys of an engine as DUMP has them.
func dumps(t testing.TB, e *Engine) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, key := range e.keys {
		dump, err := e.client.Dump(t.Context(), key).Result()
		if err == redis.Nil {
			continue
		}
		mustDo(t, err)
		all[key] = dump
	}
	return all
}

// TestCorrupt: keys that make no sense are refused and left as they are.
func TestCorrupt(t *testing.T) {
	const entries, names = 0, 1
	for name, words := range map[string][]any{
		"entries gone":            {"DEL", entries},
		"names gone":              {"DEL", names},
		"entries of another type": {"SET", entries, "x"},
		"names of another type":   {"SET", names, "x"},
		"entry gone":              {"HDEL", entries, "a"},
		"name gone":               {"ZREM", names, "a"},
		"entry too many":          {"HSET", entries, "c", "1"},
		"no swaps":                {"HDEL", entries, "#swaps"},
		"swaps not a number":      {"HSET", entries, "#swaps", "many"},
		"swaps with a zero":       {"HSET", entries, "#swaps", "01"},
		"swaps below zero":        {"HSET", entries, "#swaps", "-1"},
		"swaps too many":          {"HSET", entries, "#swaps", "9007199254740993"},
	} {
		e := prepare(t, shared, newPlace())
		put(t, e, "a", "1")
		put(t, e, "b", "1")
		words[1] = e.keys[words[1].(int)]
		mustDo(t, e.client.Do(t.Context(), words...).Err())
		before := dumps(t, e)
		_, err := e.Swap(t.Context(), nil, entry("a", "2"))
		wantError(t, name+": Swap", err, store.ErrCorrupt, e.config.Prefix+":*")
		_, err = e.Read(t.Context(), []string{"a"}, store.Page{})
		wantError(t, name+": Read", err, store.ErrCorrupt, e.config.Prefix+":*")
		wantError(t, name+": Prepare", e.Prepare(t.Context()), store.ErrCorrupt, e.config.Prefix+":*")
		if !maps.Equal(before, dumps(t, e)) {
			t.Errorf("%s: keys were changed", name)
		}
	}
}

// TestNameWithoutEntry: as many, but not the same.
func TestNameWithoutEntry(t *testing.T) {
	e := prepare(t, shared, newPlace())
	put(t, e, "a", "1")
	mustDo(t, e.client.HDel(t.Context(), e.keys[0], "a").Err())
	mustDo(t, e.client.HSet(t.Context(), e.keys[0], "b", "1").Err())
	_, err := e.Read(t.Context(), nil, store.Page{From: "a", To: "z", Limit: 1})
	wantError(t, "Read", err, store.ErrCorrupt, "a name without an entry, a")
}

// TestExpiryIsTakenBack: who sets an expiry on the keys does not end them.
func TestExpiryIsTakenBack(t *testing.T) {
	e := prepare(t, shared, newPlace())
	put(t, e, "a", "1")
	for _, key := range e.keys {
		if ok, err := e.client.Expire(t.Context(), key, time.Hour).Result(); !ok || err != nil {
			t.Fatalf("%s: expiry %v, %v", key, ok, err)
		}
	}
	put(t, e, "a", "2")
	for _, key := range e.keys {
		if ttl := e.client.TTL(t.Context(), key).Val(); ttl != -1 {
			t.Errorf("%s expires in %v", key, ttl)
		}
	}
}
