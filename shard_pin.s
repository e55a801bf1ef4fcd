//go:build gc && !purego && !race

// This file lets shard_pin.go declare functions without a body.
