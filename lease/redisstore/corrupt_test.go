package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// TestCorrupt: keys that make no sense are refused and left as they are.
func TestCorrupt(t *testing.T) {
	meta := func(field, value string) func(*Store, redis.Pipeliner) {
		return func(s *Store, p redis.Pipeliner) { p.HSet(context.Background(), s.keys[0], field, value) }
	}
	record := func(value string) func(*Store, redis.Pipeliner) {
		return func(s *Store, p redis.Pipeliner) { p.HSet(context.Background(), s.keys[1], "0", value) }
	}
	wrongType := func(i int) func(*Store, redis.Pipeliner) {
		return func(s *Store, p redis.Pipeliner) {
			p.Del(context.Background(), s.keys[i])
			p.Set(context.Background(), s.keys[i], "x", 0)
		}
	}
	gone := func(i int) func(*Store, redis.Pipeliner) {
		return func(s *Store, p redis.Pipeliner) { p.Del(context.Background(), s.keys[i]) }
	}
	const owner = "000102030405060708090a0b0c0d0e0f"
	for name, spoil := range map[string]func(*Store, redis.Pipeliner){
		"no format":              func(s *Store, p redis.Pipeliner) { p.HDel(context.Background(), s.keys[0], "format") },
		"later format":           meta("format", "2"),
		"no incarnation":         meta("incarnation", ""),
		"short incarnation":      meta("incarnation", "00"),
		"changes not a number":   meta("changes", "many"),
		"changes negative":       meta("changes", "-1"),
		"changes too large":      meta("changes", "9007199254740993"),
		"no max TTL":             meta("max_ttl", "0"),
		"max skew malformed":     meta("max_skew", "1.5"),
		"floor beyond the end":   meta("not_before", "99999999999"),
		"more ranges":            meta("ranges", "3"),
		"fewer ranges":           meta("ranges", "1"),
		"next below ranges":      meta("next", "1"),
		"meta gone":              gone(0),
		"ranges gone":            gone(1),
		"ages gone":              gone(2),
		"meta of wrong type":     wrongType(0),
		"ranges of wrong type":   wrongType(1),
		"ages of wrong type":     wrongType(2),
		"released of wrong type": wrongType(3),
		"record of one word":     record("x"),
		"record without version": record("0 " + owner + " 0 1767268800 1767268859"),
		"record with high node":  record("131072 " + owner + " 1 1767268800 1767268859"),
		"record of short owner":  record("0 00 1 1767268800 1767268859"),
		"record before epoch":    record("0 " + owner + " 1 5 1767268859"),
		"record ends too early":  record("0 " + owner + " 1 1767268800 1767268798"),
		"record ends too late":   record("0 " + owner + " 1 1767268800 3767268800"),
		"index disagrees": func(s *Store, p redis.Pipeliner) {
			p.ZIncrBy(context.Background(), s.keys[2], -1, "000000")
			p.ZIncrBy(context.Background(), s.keys[2], -1, "000001")
		},
		"index names another": func(s *Store, p redis.Pipeliner) {
			p.ZRem(context.Background(), s.keys[2], "000000")
			p.ZAdd(context.Background(), s.keys[2], redis.Z{Score: 1 << 31, Member: "000009"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := create(t, newPlace())
			held := acquire(t, s, oneMinute)
			acquire(t, s, oneMinute)
			clock.Advance(2 * time.Minute) // so that both ranges are candidates
			pipe := s.client.Pipeline()
			spoil(s, pipe)
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := data(t, s)
			_, acquireErr := s.Acquire(t.Context(), oneMinute)
			if !errors.Is(acquireErr, lease.ErrCorrupt) || !strings.Contains(acquireErr.Error(), s.keys[0]) {
				t.Errorf("Acquire: error %v, want ErrCorrupt that names the keys", acquireErr)
			}
			errs := map[string]error{}
			if !strings.HasPrefix(name, "index") { // nothing but Acquire needs the indices
				_, errs["Renew"] = s.Renew(t.Context(), held, time.Minute)
				_, errs["Lookup"] = s.Lookup(t.Context(), held)
				errs["Release"] = s.Release(t.Context(), held, noon)
			}
			if strings.HasPrefix(name, "record") || strings.HasPrefix(name, "meta") || strings.HasPrefix(name, "ranges") {
				_, errs["List"] = s.List(t.Context())
			}
			for call, err := range errs {
				if !errors.Is(err, lease.ErrCorrupt) {
					t.Errorf("%s: error %v, want ErrCorrupt", call, err)
				}
			}
			after := data(t, s)
			for key, dump := range before {
				if after[key] != dump {
					t.Errorf("%s changed", key)
				}
			}
		})
	}
}

// TestExpiryIsTakenBack: who sets an expiry on the store's keys does not end it.
func TestExpiryIsTakenBack(t *testing.T) {
	s, _ := create(t, newPlace())
	mustDo(t, s.Release(t.Context(), acquire(t, s, oneMinute), noon)) // so that there are all keys
	for _, key := range s.keys {
		if ok, err := s.client.Expire(t.Context(), key, time.Hour).Result(); !ok || err != nil {
			t.Fatalf("%s: expiry %v, %v", key, ok, err)
		}
	}
	acquire(t, s, oneMinute)
	for _, key := range s.keys[:3] {
		if ttl := s.client.TTL(t.Context(), key).Val(); ttl != -1 {
			t.Errorf("%s expires in %v", key, ttl)
		}
	}
}

// TestNothingExpires: the store sets no expiry itself.
func TestNothingExpires(t *testing.T) {
	s, _ := create(t, newPlace())
	mustDo(t, s.Release(t.Context(), acquire(t, s, oneMinute), noon))
	for _, key := range s.keys {
		if ttl := s.client.TTL(t.Context(), key).Val(); ttl != -1 {
			t.Errorf("%s: TTL %v, want none", key, ttl)
		}
	}
}
