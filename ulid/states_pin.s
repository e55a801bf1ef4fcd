//go:build gc && !purego && !race

// This file lets states_pin.go declare functions without a body.
