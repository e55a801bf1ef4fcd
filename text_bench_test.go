package randflake

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// For scale: what strconv takes for the same text.

func BenchmarkAppendTextStrconv(b *testing.B) {
	buf := make([]byte, 0, maxDigits)
	id := rand.Uint64()
	for b.Loop() {
		buf = strconv.AppendUint(buf[:0], id, 32)
		id++
	}
}

func BenchmarkParseStrconv(b *testing.B) {
	text := ID(rand.Int64()).String()
	for b.Loop() {
		sinkUint64, _ = strconv.ParseUint(text, 32, 64)
	}
}
