package lease

import (
	"time"

	"github.com/randflake/randflake/store"
)

// A Token identifies the owner of a lease, or a change of a record. The zero Token stands for no owner.
type Token = store.Token

// NewToken returns a unique token: the Unix second of now in 6 bytes, and 10 random bytes.
func NewToken(now time.Time) Token { return store.NewToken(now) }
