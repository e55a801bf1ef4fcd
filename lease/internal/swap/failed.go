package swap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/randflake/randflake/lease"
)

// Unmade marks the error of a swap, or of a read, that certainly changed nothing.
func Unmade(err error) error { return Explain(err, lease.ErrStore) }

// Explain adds to an error what it means, unless that is nil or in it already.
func Explain(err, meaning error) error {
	if err == nil || meaning == nil || errors.Is(err, meaning) {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

// Unsent marks the error of a swap if there was no connection to send it on.
func Unsent(err error) error {
	failed, ok := errors.AsType[*net.OpError](err)
	if ok && failed.Op == "dial" {
		return Unmade(err)
	}
	return err
}

// Ended returns the error of a context that has ended. If its deadline has passed it waits for
// that, as a connection may notice first.
func Ended(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	if ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err()
}
