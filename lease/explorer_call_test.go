package lease

import "context"

// call plays a call of the engine by a process:
//
//  1. Events happen before it reaches the engine.
//  2. It may not get there: the process was killed, or there is no connection. A swap may get there later.
//  3. The engine answers it.
//  4. The answer may be lost.
//  5. Events happen before the answer arrives.
//
// Where no answer arrives, the process gets an error, and can't know whether a swap took effect.
func (p *process) call(ctx context.Context, c call) (Answer, error) {
	w := p.world
	stops := w.stops
	if !p.sure {
		w.meanwhile(p)
	}
	p.sure = false
	fault := w.anyFault(c)
	switch {
	case p.gone || stops < w.stops || fault == noConnection:
		return p.noAnswer("no connection")
	case fault == isDelayed:
		w.delayed = append(w.delayed, c)
		return p.noAnswer("no answer yet: the swap is delayed")
	}
	a := w.do(c)
	switch {
	case a.Swapped && p.outdated(ctx, c): // the answer arrives at once
		w.killIgnorant(w.data.state, p)
	case fault == answerIsLost:
		return p.noAnswer("no answer: it is lost")
	default:
		w.meanwhile(p)
	}
	if p.gone {
		return Answer{}, errAway
	}
	asksForEvidence := w.IntN(4) == 0 // after the swap, by the same connection
	if asksForEvidence {
		if stops < w.stops {
			return p.noAnswer("no evidence")
		}
		w.data.evidence(&a)
	}
	if w.blind {
		a.Position = 0
	}
	p.noteAnswer(ctx, c, a, stops)
	return a, nil
}

// noAnswer returns what a call does without an answer.
func (p *process) noAnswer(gets string) (Answer, error) {
	p.world.note("(%d gets %s)", p.name, gets)
	return Answer{}, errAway
}

// A fault is what befalls a call by itself.
type fault int

const (
	noFault fault = iota
	noConnection
	isDelayed
	answerIsLost
)

// anyFault returns a random fault. Swaps of meta are delayed more often than others, and reads never are.
func (w *world) anyFault(c call) fault {
	n := w.IntN(20)
	switch {
	case n == 0:
		return noConnection
	case n == 1 && isSwap(c), n < 6 && putsMeta(c):
		return isDelayed
	case n == 2:
		return answerIsLost
	}
	return noFault
}
