package server

import (
	"cmp"
	"fmt"

	"github.com/randflake/randflake/service/internal/config"
)

// Limits of the lines in logs that each principal causes.
const (
	failureLines      = "*failures" // of stores
	failuresPerSecond = 10
	denialLines       = "*denials"
	denialsPerSecond  = 10. / 60
	lineBurst         = 100 // at first, of each kind
)

// countCall counts a call in a space, or in none, and returns an error if there were too many within a second.
func (s *Server) countCall(c *call, name string, limits config.Limits) error {
	perSecond := cmp.Or(limits.Rate, config.DefaultRate)
	if s.usage.Call(c.principal, name, perSecond, max(1, int(perSecond))) {
		return nil
	}
	return fmt.Errorf("more than %v calls a second: slow down, or raise the limit called rate", perSecond)
}
