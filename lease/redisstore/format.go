package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

func parseReply(value any) (r reply, err error) {
	items, _ := value.([]any)
	words := make([]string, len(items))
	for i, item := range items {
		words[i], _ = item.(string)
	}
	if len(words) != 9 {
		return r, fmt.Errorf("the script returned %v", value)
	}
	n := numbers{}
	r = reply{
		status:    words[0],
		now:       n.int(words[1]),
		notBefore: n.int(words[2]),
		sighting: sighting{
			incarnation: words[3],
			changes:     n.int(words[4]),
			rules:       lease.Rules{MaxTTL: n.seconds(words[5]), MaxSkew: n.seconds(words[6])},
		},
	}
	if words[8] != "" {
		r.record = n.record(words[7], words[8])
	}
	if n.err != nil {
		return r, fmt.Errorf("the script returned %q: %w", words, n.err)
	}
	return r, nil
}

// numbers reads numbers until one is malformed.
type numbers struct{ err error }

func (n *numbers) int(text string) int64 {
	v, err := strconv.ParseInt(text, 10, 64)
	n.err = errors.Join(n.err, err)
	return v
}

func (n *numbers) seconds(text string) time.Duration {
	v := n.int(text)
	if v < 0 || v > int64(1<<63-1)/int64(time.Second) {
		n.err = errors.Join(n.err, fmt.Errorf("%d seconds", v))
	}
	return time.Duration(v) * time.Second
}

// record reads a field of the ranges hash.
func (n *numbers) record(first, text string) (rec lease.Record) {
	words := strings.Split(text, " ")
	if len(words) != 5 {
		n.err = errors.Join(n.err, fmt.Errorf("record %q", text))
		return rec
	}
	firstNode, lastNode, version := n.int(first), n.int(words[0]), n.int(words[2])
	rec = lease.Record{FirstNode: uint32(firstNode), LastNode: uint32(lastNode), Version: uint64(version),
		Start: n.int(words[3]), HighWater: n.int(words[4])}
	n.err = errors.Join(n.err, rec.Owner.UnmarshalText([]byte(words[1])))
	if firstNode < 0 || lastNode < firstNode || lastNode > randflake.MaxNode || version < 0 {
		n.err = errors.Join(n.err, fmt.Errorf("record %q of node %q", text, first))
	}
	return rec
}
