package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// meta is the entry that every swap expects. It changes only when data was lost, or the space is retired.
type meta struct {
	Format int `json:"format"`
	Limits
	Check string `json:"check,omitempty"` // of the secret

	ID      string `json:"id"`              // random, new with each loss: within one ID all else only grows
	Losses  int    `json:"losses"`          // how often the floor was set
	Begin   int64  `json:"begin,omitempty"` // no window before it is ever granted: an earlier space may have
	Floor   int64  `json:"low"`             // no window before it is granted, but from the reserve
	Tick    int64  `json:"tick,omitempty"`  // of the slice that serves the windows before the floor; 0 for none
	Lineage string `json:"lineage"`         // of the data
	Why     string `json:"why,omitempty"`   // why there is a floor

	Retired   string `json:"retired,omitempty"`   // a random word, once nothing is granted any more
	Successor string `json:"successor,omitempty"` // the space that takes the place of the retired one
	From      string `json:"from,omitempty"`      // Retired of the space whose place this one took
}

// A program that knows plainFormat alone would drop the fields of the other, or grant what they forbid.
const (
	plainFormat   = 1
	reserveFormat = 2
)

// encode sets the format, too.
func (m *meta) encode() ([]byte, error) {
	m.Format = plainFormat
	if m.Reserve > 0 || m.Retired != "" || m.From != "" {
		m.Format = reserveFormat
	}
	return json.Marshal(m)
}

// farthest bounds ticks, so that their times don't overflow.
var farthest = time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC)

func decodeMeta(value []byte) (*meta, error) {
	m := new(meta)
	if err := json.Unmarshal(value, m); err != nil {
		return nil, err
	}
	if m.Format != plainFormat && m.Format != reserveFormat {
		return nil, fmt.Errorf("its format is %d, and this program knows up to %d", m.Format, reserveFormat)
	}
	if err := m.Limits.check(); err != nil {
		return nil, errors.New("a limit is missing or wrong")
	}
	if m.Floor < 0 || m.Begin < 0 || m.Tick < 0 || m.Tick > m.tickOf(farthest) {
		return nil, errors.New("a window or a tick is out of range")
	}
	return m, nil
}

// pending is the lineage of a space where a process has seen a loss but could not set the floor, as the
// clocks differ.
const pending = "lost"
