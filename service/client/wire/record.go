package wire

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
)

// Lease returns the message for a record.
func Lease(r lease.Record) *api.Lease {
	return &api.Lease{FirstNode: r.FirstNode, LastNode: r.LastNode, Owner: token(r.Owner), Change: token(r.Change),
		Version: r.Version, Start: r.Start, HighWater: r.HighWater, Changed: r.Changed, Signature: token(r.Signature), Label: r.Label}
}

// token returns a token as text, or "" for the zero token.
func token(t lease.Token) string {
	if t == (lease.Token{}) {
		return ""
	}
	return t.String()
}

// Token reads the text of a token. For "" it returns the zero token.
func Token(text string) (t lease.Token, err error) {
	if text != "" && t.UnmarshalText([]byte(text)) != nil {
		// The error does not contain the text, as a token grants rights to anybody who has it.
		return t, fmt.Errorf("%w: a token of %d bytes: want 32 hexadecimal digits", lease.ErrInvalidRequest, len(text))
	}
	return t, nil
}

// Record reads what Lease returned.
func Record(l *api.Lease) (r lease.Record, err error) {
	if l == nil {
		return r, fmt.Errorf("%w: no lease: want the one that is held", lease.ErrInvalidRequest)
	}
	if r.Owner, err = Token(l.Owner); err == nil {
		r.Change, err = Token(l.Change)
	}
	if err == nil {
		r.Signature, err = Token(l.Signature)
	}
	r.FirstNode, r.LastNode, r.Version = l.FirstNode, l.LastNode, l.Version
	r.Start, r.HighWater, r.Changed, r.Label = l.Start, l.HighWater, l.Changed, l.Label
	return r, err
}

// Second returns a time in the form in which it is sent: 0 for the zero Time.
func Second(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Time reads what Second returned.
func Time(second int64) time.Time {
	if second == 0 {
		return time.Time{}
	}
	return time.Unix(second, 0).UTC()
}
