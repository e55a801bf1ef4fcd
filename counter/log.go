package counter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/store"
)

// A Word is what an operator did to a counter.
type Word struct {
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"` // see [Counters.As]
	What string    `json:"what"`
}

// As says who makes the changes of an operator through s, for [Counters.Log]: Advance, SetBack, Extend, Reset, Delete and
// Prune, and with As also Create. It returns s, and is called before s is used.
func (s *Counters) As(who string) *Counters {
	s.by = who[:min(len(who), 100)]
	return s
}

const mostWords = 20

// Log returns the newest 20 changes that operators made to a counter, the oldest first, also if it was deleted. Without a
// name it returns the newest prunes.
func (s *Counters) Log(ctx context.Context, name string) (words []Word, err error) {
	if s.source != nil {
		return nil, s.notHere("read the log of", name)
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	v, err := s.space.Look(ctx, []string{logName(name)}, store.Page{})
	if err != nil {
		return nil, err
	}
	return readLog(v.Find(logName(name))), nil
}

// logName returns the name of the item with the log of a counter, or that of the prunes.
func logName(name string) string {
	if name == "" {
		return "o"
	}
	return "o/" + name
}

func readLog(item store.Item) (words []Word) {
	json.Unmarshal(item.Body, &words) // one that can't be read must not keep an operator from acting
	return words
}

// logged returns the log of a counter with another word.
func (s *Counters) logged(v *store.View, name, what string) store.Item {
	second := min(max(v.Now, 0), 1<<37) // of a wrong clock: JSON has no years beyond 9999, and the space no seconds before 1970
	word, words := Word{time.Unix(second, 0).UTC(), s.by, what}, readLog(v.Find(logName(name)))
	if last := len(words) - 1; name == "" && last >= 0 && words[last].By == s.by && words[last].What == what {
		words = words[:last] // the next step of the same prune
	}
	words = append(words, word)
	body, err := json.Marshal(words[max(0, len(words)-mostWords):])
	if err != nil {
		panic(err) // never: these are texts and times from the years 1970 to 6325
	}
	return store.Item{Name: logName(name), Second: second, Body: body}
}

// notHere returns the error of operators' calls for counters from a Source: they take the space itself.
func (s *Counters) notHere(what, name string) error {
	return fmt.Errorf("counter: %s %s: %w: do that on the store itself, as the command randflake does", what, name, errors.ErrUnsupported)
}
