package redis

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// required are the settings without which Redis may forget what it acknowledged.
var required = []struct{ name, value, otherwise string }{
	{"appendonly", "yes", "a restart loses everything"},
	{"appendfsync", "always", "a crash loses what was acknowledged"},
	{"no-appendfsync-on-rewrite", "no", "nothing is synced while the file is rewritten"},
	{"maxmemory-policy", "noeviction", "entries may be evicted"},
}

// questionForSettings returns the command that asks for them.
func questionForSettings() []any {
	question := []any{"config", "get"}
	for _, r := range required {
		question = append(question, r.name)
	}
	return question
}

// notAllowed adds what to do to an error of the question for the settings, if Redis itself refused it.
func notAllowed(err error) error {
	_, ok := errors.AsType[redis.Error](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w: CONFIG GET: %w: "+
		"allow it, or give your word with settings=durable that Redis is set up as documented",
		lease.ErrUnsafe, err)
}

// checkSettings returns what is wrong with the settings that Redis has, or nil.
func checkSettings(got map[string]string) error {
	for _, r := range required {
		if got[r.name] != r.value {
			return fmt.Errorf("%w: %s %q: want %s: else %s", lease.ErrUnsafe, r.name, got[r.name], r.value, r.otherwise)
		}
	}
	return nil
}
