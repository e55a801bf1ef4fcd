package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A meta is what of the meta hash is used outside of step.lua.
type meta struct {
	sighting
	notBefore int64
	ranges    int64
}

// readMeta reads what the store knows beside its records.
func (s *Store) readMeta(ctx context.Context) (meta, error) {
	return s.peek(ctx, func(redis.Pipeliner) {})
}

// read reads all there is, in one moment.
func (s *Store) read(ctx context.Context) (meta, []lease.Record, error) {
	var fields *redis.MapStringStringCmd
	m, err := s.peek(ctx, func(pipe redis.Pipeliner) { fields = pipe.HGetAll(ctx, s.keys[1]) })
	if err != nil {
		return m, nil, err
	}
	records, err := parseRecords(fields.Val())
	if err == nil && int64(len(records)) != m.ranges {
		err = fmt.Errorf("%d records, want %d", len(records), m.ranges)
	}
	if err != nil {
		return m, nil, s.corrupt(err.Error())
	}
	return m, records, nil
}

// peek reads the meta hash, and what else is asked for, in one transaction. It changes nothing.
func (s *Store) peek(ctx context.Context, also func(redis.Pipeliner)) (meta, error) {
	if err := s.usable(ctx); err != nil {
		return meta{}, err
	}
	type answer struct {
		fields map[string]string
		others int64
	}
	a, err := await(ctx, func() (a answer, err error) {
		client, err := s.node(ctx)
		if err != nil {
			return a, err
		}
		pipe := client.TxPipeline()
		fields, others := pipe.HGetAll(ctx, s.keys[0]), pipe.Exists(ctx, s.keys[1:]...)
		also(pipe)
		if _, err := pipe.Exec(ctx); err != nil {
			s.reload(ctx)
			return a, cmp.Or(fields.Err(), err) // the transaction's error does not say why
		}
		return answer{fields.Val(), others.Val()}, nil
	})
	switch {
	case err != nil:
		return meta{}, s.explain("read", withContext(ctx, err))
	case len(a.fields) == 0 && a.others > 0:
		return meta{}, s.corrupt("the meta key is missing, others are there")
	case len(a.fields) == 0:
		return meta{}, fmt.Errorf("redisstore: %s: %w: randflake lease init -store URL makes one, as redisstore.Create does", s.config.Prefix, lease.ErrNoStore)
	}
	m, err := parseMeta(a.fields)
	if err != nil {
		return meta{}, s.corrupt(err.Error())
	}
	return m, nil
}

func parseMeta(fields map[string]string) (meta, error) {
	if got := fields["format"]; got != "1" {
		return meta{}, fmt.Errorf("format is %q, this program knows 1", got)
	}
	n := numbers{}
	m := meta{
		sighting: sighting{
			incarnation: fields["incarnation"],
			changes:     n.int(fields["changes"]),
			rules:       lease.Rules{MaxTTL: n.seconds(fields["max_ttl"]), MaxSkew: n.seconds(fields["max_skew"])},
		},
		notBefore: n.int(fields["not_before"]),
		ranges:    n.int(fields["ranges"]),
	}
	var token lease.Owner
	return m, cmp.Or(n.err, token.UnmarshalText([]byte(m.incarnation)), m.rules.Check())
}

// parseRecords returns the records of the ranges hash, ordered by first node.
func parseRecords(fields map[string]string) ([]lease.Record, error) {
	n := numbers{}
	records := make([]lease.Record, 0, len(fields))
	for first, text := range fields {
		records = append(records, n.record(first, text))
	}
	if n.err != nil {
		return nil, n.err
	}
	slices.SortFunc(records, func(a, b lease.Record) int { return cmp.Compare(a.FirstNode, b.FirstNode) })
	next := uint32(0)
	for _, r := range records {
		switch {
		case r.FirstNode < next:
			return nil, fmt.Errorf("nodes %d to %d: the range before goes to %d", r.FirstNode, r.LastNode, next-1)
		case r.Version == 0 || r.Start < randflake.Epoch || r.Start > randflake.MaxTimestamp:
			return nil, fmt.Errorf("nodes %d to %d: version %d, start %d", r.FirstNode, r.LastNode, r.Version, r.Start)
		case r.HighWater < r.Start-1 || r.HighWater > randflake.MaxTimestamp:
			return nil, fmt.Errorf("nodes %d to %d: start %d, high-water mark %d", r.FirstNode, r.LastNode, r.Start, r.HighWater)
		}
		next = r.LastNode + 1
	}
	return records, nil
}
