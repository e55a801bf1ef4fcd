package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// A sighting is what a Store remembers of what it saw, for the server to compare with what there
// is.
type sighting struct {
	incarnation string
	position    int64 // of the server's log, at the newest write that was acknowledged; 0 before the first
	rules       lease.Rules
	losses      int // how many were noticed before
}

func (s *Store) sighting() sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// note raises the position to that of an acknowledged write. Replies that come late, from before a
// loss, don't count.
func (s *Store) note(saw sighting, position int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.losses == saw.losses {
		s.seen.position = max(s.seen.position, position)
	}
}

// adopt makes what was found after a loss the new state of things.
func (s *Store) adopt(a answer) error {
	rules, err := a.rules()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = sighting{a.Incarnation, a.Position, rules, s.seen.losses + 1}
	return nil
}

// call runs a function of the store, which takes args and returns an answer. When the server finds
// that data was lost, call sets the floor and tries again.
func (s *Store) call(ctx context.Context, function string, args ...any) (answer, error) {
	for range 3 {
		if err := s.usable(ctx); err != nil {
			return answer{}, err
		}
		saw := s.sighting()
		a, err := s.ask(ctx, saw, function, args)
		if err != nil {
			return answer{}, err
		}
		if a.Loss == "" {
			s.note(saw, a.Position)
			return a, nil
		}
		if err := s.heal(ctx, saw, a); err != nil {
			return answer{}, err
		}
	}
	return answer{}, fmt.Errorf("pgstore: %s: data is lost again and again: are there several servers behind one address?", function)
}

// parameters are the types of what each function takes.
var parameters = map[string]string{
	"acquire":  "uuid bigint boolean bigint bigint bigint bigint uuid",
	"renew":    "uuid bigint boolean bigint bigint bigint uuid bigint bigint bigint",
	"lookup":   "uuid bigint boolean bigint bigint bigint bigint bigint",
	"release":  "uuid bigint boolean bigint bigint bigint uuid bigint bigint bigint",
	"distrust": "uuid bigint boolean bigint bigint bigint bigint",
}

// ask sends one statement, whose result comes after its commit.
func (s *Store) ask(ctx context.Context, saw sighting, function string, args []any) (a answer, err error) {
	all := append([]any{pgx.QueryExecModeExec, saw.incarnation, saw.position, s.trusted, s.second()}, args...)
	var text string
	if err := s.pool.QueryRow(ctx, s.statements[function], all...).Scan(&text); err != nil {
		return a, s.explain(function, err)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, corrupt("%s: answer %q: %v", function, text, err)
	}
	return a, nil
}

// statements returns the statement of each function. Those without a name need no state in the session.
func (n names) statements() map[string]string {
	statements := make(map[string]string)
	for function, types := range parameters {
		var b strings.Builder
		for i, name := range strings.Fields(types) {
			fmt.Fprintf(&b, ", $%d::%s", i+1, name)
		}
		statements[function] = fmt.Sprintf("SELECT %s(%s)", n.of(function), b.String()[2:])
	}
	return statements
}

// second returns what the injected clock shows, in Unix seconds, or nil for the server's own.
func (s *Store) second() any {
	if s.clock == nil {
		return nil
	}
	return s.clock().Unix()
}

// heal sets the floor after a loss that a call reported, once for all the calls that noticed it.
func (s *Store) heal(ctx context.Context, saw sighting, reported answer) error {
	select {
	case s.healing <- struct{}{}:
		defer func() { <-s.healing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.sighting().losses != saw.losses {
		return nil
	}
	if err := s.distrust(ctx, reported.NotBefore); err != nil {
		return fmt.Errorf("%w (data was lost: %s)", err, reported.Loss)
	}
	return nil
}

// Distrust is the operator's word that the data may be an older copy, because a backup was restored
// for instance. Nothing is granted from now on that starts before [lease.Rules.NotBefore], and no
// lease renewed that does.
func (s *Store) Distrust(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.distrust(ctx, nil)
}

// distrust sets the floor, unless it is above known by now.
func (s *Store) distrust(ctx context.Context, known any) error {
	saw := s.sighting()
	a, err := s.ask(ctx, saw, "distrust", []any{known, seconds(saw.rules.MaxTTL), seconds(saw.rules.MaxSkew)})
	if err != nil {
		return err
	}
	if a.Loss != "" {
		rules := lease.Rules{
			MaxTTL:  max(saw.rules.MaxTTL, time.Duration(a.MaxTTL)*time.Second),
			MaxSkew: max(saw.rules.MaxSkew, time.Duration(a.MaxSkew)*time.Second),
		}
		_, err := setup.Floor(rules, a.Now)
		return fmt.Errorf("pgstore: distrust: %w", err)
	}
	return s.adopt(a)
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// fits returns a version as the database counts them.
func fits(version uint64) int64 { return int64(min(version, 1<<63-1)) }

// someone returns an owner as the database takes it: null for nobody.
func someone(owner lease.Owner) any {
	if owner == (lease.Owner{}) {
		return nil
	}
	return owner.String()
}

// exists reports whether a range is one of the format's: others have no record that could be lost.
func exists(rec lease.Record) bool {
	return rec.FirstNode <= rec.LastNode && rec.LastNode <= randflake.MaxNode
}
