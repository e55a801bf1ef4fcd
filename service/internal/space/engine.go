package space

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/mysqlstore"
	"github.com/randflake/randflake/store/pgstore"
	"github.com/randflake/randflake/store/redisstore"
)

// Open opens the store at a place, as the command randflake takes it for --store: a directory, or the URL of a server. No
// error shows the URL, which may hold a password.
func Open(ctx context.Context, place string, options ...store.Option) (*store.Store, error) {
	scheme, rest, isURL := strings.Cut(place, "://")
	if dir, ok := strings.CutPrefix(place, "file:"); ok {
		return filestore.Open(strings.TrimPrefix(dir, "//"), options...)
	}
	if !isURL || strings.ContainsAny(scheme, "/.") {
		return filestore.Open(place, options...)
	}
	if err := store.CheckURL(place); err != nil {
		return nil, err
	}
	open := map[string]func(context.Context, string, ...store.Option) (*store.Store, error){
		"etcd": etcdstore.Open, "etcds": etcdstore.Open,
		"redis": redisstore.Open, "rediss": redisstore.Open,
		"postgres": pgstore.Open, "postgresql": pgstore.Open,
		"mysql": mysqlstore.Open,
	}[strings.ToLower(scheme)]
	if open == nil {
		return nil, fmt.Errorf("store %s://...: no such kind of store: want a directory, or one of etcd, etcds, redis, rediss, postgres, postgresql, mysql", scheme)
	}
	if rest == "" {
		return nil, errors.New("store: URL has no server")
	}
	return open(ctx, strings.ToLower(scheme)+"://"+rest, options...)
}
