package lease

import (
	cryptorand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease/internal/stored"
)

// meta is the entry that every swap expects. Once the space is made, it changes only when a process
// sees a loss of data, the trust of the space changes, or it is retired.
type meta struct {
	Limits `json:"-"`
	Check  string `json:"check,omitempty"` // of the secret

	UID       string `json:"uid"`           // random, and the space's for life
	Term      string `json:"term"`          // the UID, then random, new with each loss: within one term records only grow
	FloorsSet int    `json:"floorsSet"`     // how often: for a loss, a change of trust, a move, or IDs in use
	Begin     int64  `json:"-"`             // a window: none before it is leased, as an earlier space may have done that
	Floor     int64  `json:"-"`             // a window: those before it are leased from the reserve alone
	Tick      int64  `json:"-"`             // of the slice for windows before the floor: see reserve.go; 0 for none
	Why       string `json:"why,omitempty"` // why there is a floor

	Lineage     string `json:"lineage"`               // of the data, or a mark: see below
	Incarnation string `json:"incarnation,omitempty"` // of the data when the last loss was noted
	Trust       bool   `json:"trust,omitempty"`       // another incarnation is no loss: see trust.go

	retirement
	Predecessor string `json:"predecessor,omitempty"` // the UID of the space whose place this one takes

	Announced bool     `json:"announced,omitempty"` // a move is to make the space, and until then there is none
	Abandoned []string `json:"abandoned,omitempty"` // the UIDs of spaces that were announced here, and are never made

	madeFrom [][]byte // the stored entries this was decoded from: encode keeps their unknown keys
}

// A storedMeta is meta as a store has it.
type storedMeta struct {
	Format int `json:"format"`
	storedLimits
	*meta
	storedTimes
}

// storedTimes are the first seconds of windows and of a tick, as Unix times.
type storedTimes struct {
	BeginSecond int64 `json:"begin,omitempty"`
	FloorSecond int64 `json:"floor"`
	TickSecond  int64 `json:"tick,omitempty"`
}

// A program that knows another format would grant what this one forbids.
const metaFormat = 1

// Marks of a space in which a process has seen a loss, and the floor is not set yet. They stand in
// the place of the lineage, and are no engine's: so every process sees a loss.
const (
	lossMark  = "lost"
	trustMark = "lost, as trust changed" // by a person, just now
	newMark   = "lost, as a new space"   // of a new space, which may replace one that was lost
)

func (m *meta) isMarked() bool {
	return m.Lineage == lossMark || m.Lineage == trustMark || m.Lineage == newMark
}

// newMeta returns the meta of a new space, with its mark. seen shows that there is none.
func newMeta(seen *snapshot, limits Limits, config Config) *meta {
	uid := cryptorand.Text()
	m := &meta{
		Limits:      limits,
		UID:         uid,
		Term:        uid,
		Lineage:     newMark,
		Incarnation: seen.Incarnation,
		Trust:       config.Trust,
		Why:         "created for IDs that were in use",
		Abandoned:   seen.abandoned(),
	}
	if config.NeverUsed {
		m.Why = "its creator was stopped" // beginAtOnce takes that away
	}
	if config.CheckValue != [8]byte{} {
		m.Check = hex.EncodeToString(config.CheckValue[:])
	}
	return m
}

// mayShareIDs reports whether another space may be for the same IDs. A check value is empty if that is not known.
func (m *meta) mayShareIDs(other *meta) bool {
	return m.Check == "" || other.Check == "" || m.Check == other.Check
}

// encode leaves out the oldest of many abandoned spaces.
func (m meta) encode() ([]byte, error) {
	const mostAbandoned = 20 // keeps the entry small
	m.Abandoned = m.Abandoned[max(len(m.Abandoned)-mostAbandoned, 0):]
	return stored.Encode(storedMeta{metaFormat, m.Limits.stored(), &m, m.times()}, m.madeFrom...)
}

func (m *meta) times() storedTimes {
	return storedTimes{
		BeginSecond: m.start(m.Begin).Unix(),
		FloorSecond: m.start(m.Floor).Unix(),
		TickSecond:  m.tickStart(m.Tick).Unix(),
	}
}

// farthest bounds ticks, so that the times of the reserve don't overflow.
var farthest = time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC)

func decodeMeta(value []byte) (*meta, error) {
	m := &meta{madeFrom: [][]byte{value}}
	found := storedMeta{meta: m}
	if err := json.Unmarshal(value, &found); err != nil {
		return nil, err
	}
	if found.Format != metaFormat {
		return nil, fmt.Errorf("its format is %d, and this program knows %d alone", found.Format, metaFormat)
	}
	m.Limits = found.limits()
	if err := m.Limits.check(); err != nil {
		return nil, errors.New("a limit is missing or wrong")
	}
	if m.UID == "" {
		return nil, errors.New("the space has no UID")
	}
	m.Begin = m.WindowOf(time.Unix(found.BeginSecond, 0))
	m.Floor = m.WindowOf(time.Unix(found.FloorSecond, 0))
	m.Tick = m.tickOf(time.Unix(found.TickSecond, 0))
	inRange := min(found.BeginSecond, found.FloorSecond, found.TickSecond) >= 0 && found.TickSecond <= farthest.Unix()
	if !inRange || m.times() != found.storedTimes {
		return nil, errors.New("no window or tick begins at one of its times")
	}
	return m, nil
}

// matches reports whether an answer comes from the data of this meta.
func (m *meta) matches(a Answer) bool {
	return m.Lineage == a.Lineage && (m.Trust || m.Incarnation == a.Incarnation)
}
