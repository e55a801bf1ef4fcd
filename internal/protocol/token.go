package protocol

import (
	"time"

	"github.com/randflake/randflake/store"
)

// Freshness is for how many seconds a token serves, give or take MaxSkew.
const Freshness = 2 * 60

// Fresh reports whether a token was made at the present that v shows. So nothing that lasts, such as the name of a host,
// can make two callers share what a token got.
func Fresh(v *store.View, t store.Token) bool {
	age := v.Now - t.Second()
	return max(age, -age) <= Freshness+v.Meta.Limits().Skew()
}

// Again returns the token for the next attempt of a call: t, with which its outcome was unknown, or a new one where t is
// zero or has half of its time behind it.
func Again(t store.Token, now time.Time) store.Token {
	if age := now.Unix() - t.Second(); age < 0 || age > Freshness/2 {
		return store.NewToken(now)
	}
	return t
}

// ReceiptName returns the name of the item that tells what a token got. All tokens share 256 receipts of a kind, so a
// receipt may give way to a newer one before its token has served its time.
func ReceiptName(kind string, t store.Token) string { return kind + "/" + t.String()[30:] }
