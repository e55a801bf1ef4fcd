package segments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/store"
)

// A Block is numbers that a caller has taken to hand out by its own means: First, First + Stride, ...
type Block struct {
	First, Stride int64
	Count         uint64
	Version       uint64 // of the counter when it was taken
	Token         Token
}

// A Token names an allocation, so that it can be asked for again when the answer was lost.
type Token = store.Token

// NewToken returns a token that no other call returns: the second of now, in 6 bytes, and 10 random bytes.
func NewToken(now time.Time) Token { return store.NewToken(now) }

// freshness is for how many seconds a token serves, give or take MaxSkew.
const freshness = 2 * 60

// ErrInvalidToken says that a token is too old, or was used before for something else.
var ErrInvalidToken = errors.New("segments: invalid token")

// Allocate takes a block of n numbers, or fewer where the counter's end or its rate is near. Unlike a [Counter] it holds
// nothing in memory, so it is for callers that can't hold a handle. The same token again, within two minutes, gets the
// same block, unless very many were allocated meanwhile: then it gets another one, and the first is lost.
func (s *Counters) Allocate(ctx context.Context, name string, n uint64, token Token) (Block, error) {
	if err := checkName(name); err != nil {
		return Block{}, err
	}
	if n == 0 {
		return Block{}, fmt.Errorf("%w: block of 0 numbers: want 1 or more", ErrInvalidOption)
	}
	for range tries {
		v, err := s.space.Read(ctx, []string{prefix + name, receiptName(token)}, store.Page{})
		if err != nil {
			return Block{}, err
		}
		block, done, err := s.allocate(ctx, v, name, n, token)
		if err != nil || done {
			return block, err
		}
	}
	return Block{}, s.contended(name)
}

// allocate makes one attempt. It reports false when another caller was faster.
func (s *Counters) allocate(ctx context.Context, v *store.View, name string, n uint64, token Token) (Block, bool, error) {
	fail := func(err error) (Block, bool, error) {
		return Block{}, false, fmt.Errorf("%w: %s in %s", err, name, s.space)
	}
	old, item := v.Find(receiptName(token)), v.Find(prefix+name)
	if err := checkToken(v, token); err != nil {
		return fail(err)
	}
	if before := readReceipt(old); before.Token == token.String() && before.Epoch == epoch(v.Meta) {
		if before.Name != name {
			return fail(fmt.Errorf("%w: %s: it has served already: make another by NewToken", ErrInvalidToken, token))
		}
		// Put as it is, so that it is durable.
		done, _, err := s.space.Swap(ctx, v, store.Change{Expect: []store.Item{old}, Put: []store.Item{old}})
		return before.block(token), done, err
	}
	r, err := decode(item)
	if err != nil {
		return Block{}, false, err
	}
	next, err := trusted(v, nil, r)
	if err == nil {
		err = next.take(n)
	}
	if err != nil {
		return fail(err)
	}
	made := receipt{token.String(), name, next.number(next.Position - next.Block), next.Stride, next.Block, next.Version, next.Epoch}
	done, _, err := s.space.Swap(ctx, v, store.Change{Expect: []store.Item{item}, Put: []store.Item{next.item(name), made.item(token, v.Now)}})
	return made.block(token), done, err
}

// ReturnBlock gives back the last unused numbers of a block, which nobody was given nor will be, and reports whether it
// could: only where the counter has not changed since the block was taken, and so only once. Otherwise they are lost.
func (s *Counters) ReturnBlock(ctx context.Context, name string, block Block, unused uint64) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	if unused > block.Count {
		return false, fmt.Errorf("%w: %d numbers unused of a block of %d", ErrInvalidOption, unused, block.Count)
	}
	for range tries {
		v, err := s.space.Read(ctx, []string{prefix + name}, store.Page{})
		if err != nil {
			return false, err
		}
		item := v.Find(prefix + name)
		r, err := decode(item)
		if err != nil || r == nil {
			return false, err
		}
		if unused == 0 || r.Epoch != epoch(v.Meta) || r.Version != block.Version || r.Block != block.Count || r.Stride != block.Stride ||
			r.number(r.Position-r.Block) != block.First {
			return false, nil
		}
		next := changed(v, r)
		if err := next.giveBack(r.Position, unused); err != nil {
			return false, err
		}
		// Its token gets nothing any more, as others may get what went back.
		spent := receipt{Token: block.Token.String(), Epoch: r.Epoch}.item(block.Token, v.Now)
		done, _, err := s.space.Swap(ctx, v, store.Change{Expect: []store.Item{item}, Put: []store.Item{next.item(name), spent}})
		if err != nil || done {
			return done, err
		}
	}
	return false, s.contended(name)
}

func (s *Counters) contended(name string) error {
	return fmt.Errorf("segments: %s in %s changed each time that it was looked at: does the engine keep its word?", name, s.space)
}

// checkToken refuses a token that is not fresh, so that nothing that lasts, such as the name of a host, can make two callers
// share a block.
func checkToken(v *store.View, t Token) error {
	if err := v.Clock(); err != nil {
		return err
	}
	if age := v.Now - t.Second(); max(age, -age) > freshness+v.Meta.Limits().Skew() {
		return fmt.Errorf("%w: %s is not of the last %d seconds: want one from NewToken, made for this block by a clock that is right", ErrInvalidToken, t, freshness)
	}
	return nil
}

// A receipt tells which block a token got. There are a few for all tokens: a later one takes the place of an older one
// now and then.
type receipt struct {
	Token   string `json:"token"`
	Name    string `json:"name"` // empty once a part of the block went back
	First   int64  `json:"first"`
	Stride  int64  `json:"stride"`
	Count   uint64 `json:"count"`
	Version uint64 `json:"version"`
	Epoch   string `json:"epoch"`
}

// receiptName puts a token in one of 256 places.
func receiptName(t Token) string { return fmt.Sprintf("b/%02x", t[len(t)-1]) }

func (r receipt) item(t Token, now int64) store.Item {
	body, err := json.Marshal(r)
	if err != nil {
		panic(err) // never: these are numbers and texts
	}
	return store.Item{Name: receiptName(t), Second: now, Body: body}
}

// readReceipt returns no receipt where there is none that can be read: that costs a block, and repeats none.
func readReceipt(item store.Item) (r receipt) {
	if json.Unmarshal(item.Body, &r) != nil {
		return receipt{}
	}
	return r
}

func (r receipt) block(t Token) Block { return Block{r.First, r.Stride, r.Count, r.Version, t} }
