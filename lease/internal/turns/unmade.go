package turns

import (
	"errors"
	"fmt"
	"net"

	"github.com/randflake/randflake/lease"
)

// Unmade marks the error of a swap that certainly was not made.
func Unmade(err error) error {
	if err == nil || errors.Is(err, lease.ErrStore) {
		return err
	}
	return fmt.Errorf("%w: %w", lease.ErrStore, err)
}

// Unsent marks the error of a swap if it says that there was no connection to send the swap on.
func Unsent(err error) error {
	if failed := (*net.OpError)(nil); errors.As(err, &failed) && failed.Op == "dial" {
		return Unmade(err)
	}
	return err
}
