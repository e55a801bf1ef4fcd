package engine

// NewClock returns a right clock for processes, which is kept in dir, and what has them heed it in their environment.
func NewClock(dir string) (*Clock, []string, error) {
	c, err := newClock(true, dir)
	if err != nil {
		return nil, nil, err
	}
	environ, err := c.environ()
	return c, environ, err
}
