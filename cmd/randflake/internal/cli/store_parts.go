package cli

import (
	"context"

	"github.com/randflake/randflake/lease"
)

// A part is a space and the nodes that it has.
type part struct {
	space *lease.Space
	lease.Info
}

// compareParts prints which nodes several spaces have, and then which two have the same nodes of one
// secret, which is an error. A space that is retired grants no nodes.
func (t *tool) compareParts(ctx context.Context, stores []string) error {
	f := &findings{tool: t}
	var parts []part
	for _, store := range stores {
		p, err := readPart(ctx, store)
		switch {
		case err != nil:
			f.add(false, "%v", err)
			continue
		case p.Retired:
			f.add(true, "%s is retired", p.space)
			continue
		case p.Check == "":
			f.add(true, "%s has nodes %d to %d, of no secret: whether another space has them too is unknown", p.space, p.First, p.Last())
			continue
		}
		f.add(true, "%s has nodes %d to %d, of the secret with the check value %s", p.space, p.First, p.Last(), p.Check)
		for _, other := range parts {
			if p.Check == other.Check && p.Overlaps(other.Limits) {
				f.add(false, "%s and %s both have nodes %d to %d: their IDs can repeat: retire one, and see randflake help store init",
					other.space, p.space, max(p.First, other.First), min(p.Last(), other.Last()))
			}
		}
		parts = append(parts, p)
	}
	return f.print()
}

func readPart(ctx context.Context, store string) (p part, err error) {
	_, p.space, err = openNamed(ctx, store)
	if err != nil {
		return p, err
	}
	defer p.space.Close()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	p.Info, err = readInfo(ctx, p.space)
	return p, err
}
