package counter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

// A Run is Count numbers that a caller has taken and hands out itself: First, First + Stride, ...
type Run struct {
	First, Stride int64
	Count         uint64
	Version       uint64 // of the counter when it was taken
	Token         Token
}

// A Token identifies an allocation, so that the call can be repeated if its answer was lost.
type Token = store.Token

// NewToken returns a unique token: the Unix second of now in 6 bytes, and 10 random bytes.
func NewToken(now time.Time) Token { return store.NewToken(now) }

// ErrInvalidToken says that a token is too old, or was used for something else.
var ErrInvalidToken = errors.New("counter: invalid token")

// Allocate takes a run of n numbers, or fewer near the counter's end or the limit of its rate, and returns the new
// state of the counter. It keeps nothing in memory and serves callers that can't hold a [Counter]. The same token gets
// the same run again for two minutes, unless very many runs were allocated meanwhile: then it gets another one, and the
// first is lost.
func (s *Counters) Allocate(ctx context.Context, name string, n uint64, token Token) (Run, Info, error) {
	if s.source != nil {
		return s.source.Allocate(ctx, name, n, token)
	}
	if err := checkName(name); err != nil {
		return Run{}, Info{}, err
	}
	if n == 0 {
		return Run{}, Info{}, fmt.Errorf("%w: run of 0 numbers: want 1 or more", ErrInvalidOption)
	}
	var run Run
	var info Info
	_, err := s.state(name, nil, receiptName(token)).Update(ctx, nil, nil, func(v *store.View, r *record) (put []store.Item, err error) {
		if run, info, put, err = allocate(v, r, name, n, token); err != nil {
			err = s.explain(err, name)
		}
		return put, err
	})
	if err != nil {
		return Run{}, Info{}, err
	}
	return run, info, nil
}

// allocate returns the run for a token, and the items to put.
func allocate(v *store.View, r *record, name string, n uint64, token Token) (b Run, i Info, put []store.Item, err error) {
	if err := checkToken(v, token); err != nil {
		return b, i, nil, err
	}
	old := v.Find(receiptName(token))
	if before := readReceipt(old); before.Token == token.String() && before.Generation == generation(v.Meta) {
		if before.Name != name || before.Unused > 0 || r == nil || r.Deleted || before.Version < r.Born {
			return b, i, nil, fmt.Errorf("%w: %s: it has served already: make another by NewToken", ErrInvalidToken, token)
		}
		return before.run(token), r.info(name, before.Generation), []store.Item{old}, nil // put as it is, so that it is durable
	}
	next, err := trusted(v, nil, r)
	if err == nil {
		err = next.take(n)
	}
	if err != nil {
		return b, i, nil, err
	}
	next.Token = tokenOf(token)
	made := receipt{token.String(), name, next.number(next.Position - next.Run), next.Stride, next.Run, next.Version, next.Generation, 0}
	return made.run(token), next.info(name, next.Generation), []store.Item{next.item(name), made.item(token, v.Now)}, nil
}

// tokenOf returns the change ID under which a caller's token got its run.
func tokenOf(t Token) token { return token(t[len(t)-len(token{}):]) }

// ReturnRun gives back the last unused numbers of a run, which must never have been handed out, and reports whether
// that worked. It works once, and only while no later numbers are in use; otherwise the numbers are lost. If the answer
// was lost it may be called again, and reports the outcome of the first call, or false if that is no longer known.
func (s *Counters) ReturnRun(ctx context.Context, name string, run Run, unused uint64) (bool, error) {
	if s.source != nil {
		return s.source.ReturnRun(ctx, name, run, unused)
	}
	if err := checkName(name); err != nil {
		return false, err
	}
	if unused > run.Count {
		return false, fmt.Errorf("%w: %d numbers unused of a run of %d", ErrInvalidOption, unused, run.Count)
	}
	if unused == 0 {
		return false, nil
	}
	done := false
	_, err := s.state(name, nil, receiptName(run.Token)).Update(ctx, nil, nil, func(v *store.View, r *record) ([]store.Item, error) {
		kept, all := readReceipt(v.Find(receiptName(run.Token))), generation(v.Meta)
		switch done = false; {
		case r == nil:
			return nil, nil
		case kept == spent(name, run, unused, all):
			done = true
			return nil, nil
		case r.Generation != all || run.Version < r.Born || r.Deleted || !kept.is(name, run, all) && !r.newestIs(run):
			return nil, nil
		}
		next := changed(v, r)
		if next.giveBack(r.position(run.First)+run.Count, unused) != nil {
			return nil, nil
		}
		done = true
		// Its token no longer gets the run, since others may get the numbers that went back.
		return []store.Item{next.item(name), spent(name, run, unused, all).item(run.Token, v.Now)}, nil
	})
	return done && err == nil, err
}

// newestIs reports whether the newest change of r took run. Only its owner knows the token.
func (r *record) newestIs(run Run) bool {
	return r.Version == run.Version && r.Token == tokenOf(run.Token) && r.Run == run.Count && r.Stride == run.Stride &&
		r.number(r.Position-r.Run) == run.First
}

// checkToken refuses a token that is not fresh, so that two callers can't share a run by tokens made from something
// lasting, such as a host name.
func checkToken(v *store.View, t Token) error {
	if err := v.Clock(); err != nil {
		return err
	}
	if !protocol.Fresh(v, t) {
		return fmt.Errorf("%w: %w: %s is not of the last %d seconds: want one from NewToken, made for this run by a clock that is right", ErrInvalidToken, store.ErrClock, t, protocol.Freshness)
	}
	return nil
}

// A receipt tells which run a token got.
type receipt struct {
	Token      string `json:"token"`
	Name       string `json:"name"`
	First      int64  `json:"first"`
	Stride     int64  `json:"stride"`
	Count      uint64 `json:"count"`
	Version    uint64 `json:"version"`
	Generation string `json:"generation"`
	Unused     uint64 `json:"unused,omitempty"` // how many went back, if any did
}

// spent returns the receipt of a run after its last unused numbers went back.
func spent(name string, b Run, unused uint64, generation string) receipt {
	return receipt{b.Token.String(), name, b.First, b.Stride, b.Count, b.Version, generation, unused}
}

// is reports whether r is the receipt of the whole run, none of which went back.
func (r receipt) is(name string, b Run, generation string) bool {
	return r == spent(name, b, 0, generation)
}

func receiptName(t Token) string { return protocol.ReceiptName("b", t) }

func (r receipt) item(t Token, now int64) store.Item {
	body, err := json.Marshal(r)
	if err != nil {
		panic(err) // never: these are numbers and texts
	}
	return store.Item{Name: receiptName(t), Second: now, Body: body}
}

// readReceipt returns the zero receipt for an item that it can't read: that loses a run, but repeats no number.
func readReceipt(item store.Item) (r receipt) {
	if json.Unmarshal(item.Body, &r) != nil {
		return receipt{}
	}
	return r
}

func (r receipt) run(t Token) Run { return Run{r.First, r.Stride, r.Count, r.Version, t} }
