package lease

import (
	"time"

	"github.com/randflake/randflake/store"
)

// A Token names a holder of a lease, or a change of a record. The zero Token stands for no holder.
type Token = store.Token

// NewToken returns a token that no other call returns: the second of now, in 6 bytes, and 10 random bytes.
func NewToken(now time.Time) Token { return store.NewToken(now) }
