package lease

import (
	"context"
	"time"
)

// Info is what people want to know of a space.
type Info struct {
	Limits
	MainNodes  uint32    // how many nodes are not of the reserve
	TakenNodes uint32    // how many nodes of the present window are taken, or given up
	CheckValue string    // check value of the secret, in hexadecimal, or ""
	Trust      bool      // another incarnation of the data is no loss
	ServerTime time.Time // by the server's clock, or zero if it has none

	UnnotedLoss  string    // how this answer shows a loss of data that nobody has noted yet, or ""
	FloorsSet    int       // how often the floor was set: for a loss of data, a change of trust, a move, or IDs in use
	Floor        time.Time // leases that begin before it are of the reserve, or not granted; zero for none
	Why          string    // why there is a floor, or ""
	ReserveOpens time.Time // from when on the present window is leased from the reserve; zero if no window is

	// FloorExcess is by how much the floor is later than right clocks can have set it, or 0: the clock
	// of who set it was ahead, or this machine's is behind.
	FloorExcess time.Duration

	Retired bool   // nothing is granted any more
	MovedTo string // where the space is that takes the place of the retired one, or ""
}

// Info reads the space. With ErrClock or ErrUnsafe, which a take would return too, the Info is complete.
func (s *Space) Info(ctx context.Context) (Info, error) {
	seen, err := s.readExisting(ctx)
	if err != nil {
		return Info{}, err
	}
	m := seen.meta
	info := Info{
		Limits:       m.Limits,
		MainNodes:    m.mainNodes(),
		CheckValue:   m.Check,
		Trust:        m.Trust,
		ServerTime:   seen.Time,
		UnnotedLoss:  seen.loss(),
		FloorsSet:    m.FloorsSet,
		Why:          m.Why,
		ReserveOpens: m.leasingResumes(seen.answered),
		FloorExcess:  m.floorExcess(seen.later()),
		Retired:      m.Retired,
		MovedTo:      m.MovedTo,
	}
	if m.Floor > 0 {
		info.Floor = m.start(m.Floor)
	}
	nodes, err := seen.takenNodes(s)
	if err != nil {
		return info, err
	}
	info.TakenNodes = m.countTaken(nodes, m.WindowOf(seen.answered))
	return info, seen.unfit(m)
}
