package lease

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/randflake/randflake"
)

// A Config says which space it is, and for Create what it is like. The zero value is the space
// "default", for any IDs.
//
// Open and Move refuse a space that was made with other Limits, NoReserve or CheckValue, where these are not zero.
type Config struct {
	Name   string           // 1 to 40 bytes of a-z, 0-9, "-", "_" and "."; "default" if empty
	Clock  func() time.Time // the process's; nil for the system's
	Limits Limits           // a zero value stands for the default

	// CheckValue is the check value of the secret of the IDs. Other secrets are refused. Zero for none.
	CheckValue [8]byte

	// Trust is for Create and Move: it makes the promise of [Space.SetTrust] for the store of the new space.
	Trust bool

	// NoReserve makes a space without a reserve, where Limits would have one by default.
	NoReserve bool

	// Part says that the space has a part of the nodes of its secret or layout, from Limits.FirstNode
	// on, be that 0, and spaces in other stores have others. A FirstNode above 0 says the same.
	Part bool

	// NeverUsed is for Create. It promises that nothing was ever leased for these IDs, so that leases begin at once.
	// Otherwise no lease begins until all leases of an earlier space have ended. Create needs the
	// limits of that space to know when.
	NeverUsed bool
}

// Check returns what Create would say of the name and of the limits, completed by their defaults.
func (c Config) Check() error {
	_, err := c.limits()
	return cmp.Or(c.checkName(), err)
}

func (c Config) checkName() error {
	if c.Name == "" || spaceName.MatchString(c.Name) {
		return nil
	}
	return fmt.Errorf("%w: space %q: want a name of 1 to %d of a-z, 0-9, dash, underscore and dot",
		ErrInvalid, c.Name, longestSpace)
}

// defaultReserve is that of a space with more nodes than the slices have together.
const defaultReserve = 1024

// limits returns those of a new space, with defaults for zero values.
func (c Config) limits() (Limits, error) {
	l := c.Limits.or(Limits{
		Nodes:   randflake.MaxNode + 1 - c.Limits.FirstNode,
		Window:  time.Minute,
		Ahead:   5,
		MaxSkew: time.Minute,
	})
	if c.NoReserve && l.Reserve > 0 {
		return l, fmt.Errorf("%w: a reserve of %d and NoReserve: want one of them", ErrInvalid, l.Reserve)
	}
	isPart := c.Part || l.FirstNode > 0
	switch {
	case l.Reserve > 0 || c.NoReserve: // somebody has said so
	case isPart && l.Nodes >= 2048: // fewer can't spare half of them
		l.Reserve = l.Nodes / 2 / sliceCount
	case !isPart && l.Nodes > sliceCount*defaultReserve:
		l.Reserve = defaultReserve
	}
	return l, l.check()
}

// or returns limits with those of others where they are zero.
func (l Limits) or(others Limits) Limits {
	return Limits{
		FirstNode: cmp.Or(l.FirstNode, others.FirstNode),
		Nodes:     cmp.Or(l.Nodes, others.Nodes),
		Window:    cmp.Or(l.Window, others.Window),
		Ahead:     cmp.Or(l.Ahead, others.Ahead),
		MaxSkew:   cmp.Or(l.MaxSkew, others.MaxSkew),
		Reserve:   cmp.Or(l.Reserve, others.Reserve),
	}
}

// checkMade returns ErrMismatch or ErrWrongSecret unless the space was made as the configuration says. What is
// zero says nothing.
func (s *Space) checkMade(c Config) error {
	is := s.Limits()
	want := c.Limits.or(is)
	if c.Part {
		want.FirstNode = c.Limits.FirstNode
	}
	if c.NoReserve {
		want.Reserve = 0
	}
	if want != is {
		return fmt.Errorf("%w: %s has limits %+v, and %+v are wanted", ErrMismatch, s, is, want)
	}
	if c.CheckValue != [8]byte{} {
		return s.CheckSecret(c.CheckValue)
	}
	return nil
}

const longestSpace = 40 // bytes of a name

var spaceName = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9._-]{1,%d}$`, longestSpace))
