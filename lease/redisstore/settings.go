package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// required are the settings without which Redis may forget what it acknowledged.
var required = []struct{ name, value, otherwise string }{
	{"appendonly", "yes", "a restart loses everything"},
	{"appendfsync", "always", "a crash loses what was acknowledged; durability=everysec in the URL accepts everysec, and grants nothing for a while after each restart"},
	{"no-appendfsync-on-rewrite", "no", "nothing is synced while the file is rewritten"},
	{"maxmemory-policy", "noeviction", "the store's keys may be evicted"},
}

// askSettings adds the question for the settings to pipe; nil if they are trusted.
func (s *Store) askSettings(ctx context.Context, pipe redis.Pipeliner) *redis.MapStringStringCmd {
	if s.config.TrustSettings {
		return nil
	}
	args := []any{"config", "get"}
	for _, r := range required {
		args = append(args, r.name)
	}
	answer := redis.NewMapStringStringCmd(ctx, args...)
	pipe.Process(ctx, answer)
	return answer
}

// checkSettings returns an error that names the first setting that is unsafe.
func (s *Store) checkSettings(answer *redis.MapStringStringCmd) error {
	if answer == nil {
		return nil
	}
	settings, err := answer.Result()
	if refusal := redis.Error(nil); errors.As(err, &refusal) {
		return fmt.Errorf("CONFIG GET: %w: allow it, or give your word with settings=trusted that Redis is set up as documented", err)
	}
	if err != nil {
		return fmt.Errorf("CONFIG GET: %w", err)
	}
	for _, r := range required {
		got := settings[r.name]
		if got == r.value || r.name == "appendfsync" && got == "everysec" && s.config.EverySecond {
			continue
		}
		return fmt.Errorf("setting %s %q: want %s: else %s", r.name, got, r.value, r.otherwise)
	}
	return nil
}

// A server is what inspect found out.
type server struct {
	now      time.Time
	replicas bool // any is connected
}

// inspect checks the server's version, role and settings.
func (s *Store) inspect(ctx context.Context) (server, error) {
	client, err := s.node(ctx)
	if err != nil {
		return server{}, fmt.Errorf("%w", err)
	}
	pipe := client.Pipeline()
	info, replication, now := pipe.Info(ctx, "server"), pipe.Info(ctx, "replication"), pipe.Time(ctx)
	settings := s.askSettings(ctx, pipe)
	pipe.Exec(ctx) // each command has its own error
	for _, cmd := range []redis.Cmder{info, replication, now} {
		if err := cmd.Err(); err != nil {
			s.reload(ctx)
			return server{}, fmt.Errorf("%s: %w", strings.ToUpper(cmd.Name()), err)
		}
	}
	if version := field(info.Val(), "redis_version"); !atLeast7(version) {
		return server{}, fmt.Errorf("server is version %q: want Redis 7.0 or newer", version)
	}
	if role := field(replication.Val(), "role"); role != "master" {
		return server{}, fmt.Errorf("server's role is %q: want the primary, role master", role)
	}
	return server{now.Val(), field(replication.Val(), "connected_slaves") != "0"}, s.checkSettings(settings)
}

// field returns the value of one line of what INFO says.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func atLeast7(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 7
}
