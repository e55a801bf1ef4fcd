package store

// Combined returns an engine as Combining has it, but that a swap waits while another one is under way.
func Combined(engine Engine) Engine { return combine(engine, 1) }

// Waiting returns how many swaps of a combined engine wait.
func Waiting(engine Engine) int {
	c := engine.(*combined)
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}
