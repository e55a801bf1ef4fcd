package lease

import "context"

// A bounded engine may lack the room for further entries.
type bounded interface {
	// CheckRoom returns an error that wraps ErrStore if a swap that puts these entries would lack room.
	CheckRoom(ctx context.Context, put []Entry) error
}

// checkRoom returns an error if the engine lacks the room for a space with the counters of another one.
// So a move stops before that is retired, and not among its counters. It takes ten seconds at most.
func (s *Space) checkRoom(ctx context.Context, old *Space) error {
	engine, isBounded := s.engine.(bounded)
	if !isBounded {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	put := []Entry{{s.entryName(metaEntry), nil}} // of whatever size it counts for
	err := old.eachCounter(ctx, func(c Counter) error {
		value, err := c.encode()
		put = append(put, Entry{s.entryName(counterPrefix + c.Name), value})
		return err
	})
	if err != nil {
		return err
	}
	if err := engine.CheckRoom(ctx, put); err != nil {
		return s.storeError("move", err)
	}
	return nil
}
