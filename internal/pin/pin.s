//go:build gc && !purego && !race

// This file lets pin.go declare functions without a body.
