package redis

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// meanings has, for errors of Redis and the script by how they begin, what they mean. All of them say
// that nothing was changed. No beginning is the beginning of another one.
var meanings = map[string]error{
	"NOSTORE":         lease.ErrNoSpace,
	"WRONGTYPE":       fmt.Errorf("%w: nothing was changed: see what is there", lease.ErrCorrupt),
	"CORRUPT":         fmt.Errorf("%w: nothing was changed", lease.ErrCorrupt),
	"READONLY":        fmt.Errorf("%w: want the primary, role master", lease.ErrUnsafe),
	"Error compiling": fmt.Errorf("%w: want Redis 7.0 or newer, or Valkey", lease.ErrUnsafe),
	"MOVED":           errors.New("nothing was changed: try again; a cluster needs New with a ClusterClient"),
	"NOREPLICAS":      errors.New("nothing was changed: see to the replicas"),
	"OOM":             errors.New("nothing was changed: make room in memory"),
	"WRONGPASS":       fs.ErrPermission,
	"NOAUTH":          fs.ErrPermission,
}

// explain adds to the error of a script what it means.
func explain(err error) error {
	for prefix, meaning := range meanings {
		if redis.HasErrorPrefix(err, prefix) {
			return swap.Unmade(fmt.Errorf("%w: %w", meaning, err))
		}
	}
	return swap.Unsent(err)
}
