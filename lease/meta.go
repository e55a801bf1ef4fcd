package lease

import (
	"encoding/json"
	"errors"
	"fmt"
)

// meta is the entry that every swap expects. It changes only when data was lost.
type meta struct {
	Format int `json:"format"`
	Limits
	Check string `json:"check,omitempty"` // of the secret

	ID      string `json:"id"`      // random, new with each loss: within one ID all else only grows
	Losses  int    `json:"losses"`  // how often the floor was set
	Low     int64  `json:"low"`     // the floor: no window before it is granted
	Lineage string `json:"lineage"` // of the data
	Why     string `json:"why,omitempty"`
}

const format = 1

// pending is the lineage of a space where a process has seen a loss but could not set the floor, as the clocks differ.
const pending = "lost"

func decodeMeta(value []byte) (*meta, error) {
	m := new(meta)
	if err := json.Unmarshal(value, m); err != nil {
		return nil, err
	}
	if m.Format != format {
		return nil, fmt.Errorf("its format is %d, and this program knows %d", m.Format, format)
	}
	if err := m.Limits.check(); err != nil {
		return nil, errors.New("a limit is missing or wrong")
	}
	return m, nil
}
