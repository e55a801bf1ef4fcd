// Package anykey is how the packages under compat make ciphers and generators from any key of 16 bytes, as what they
// stand in for does. Package randflake refuses a key of 16 zero bytes, under which anybody could open the IDs.
package anykey

// Secret returns a randflake.Secret with the given key. Package randflake sets it when it is initialised. The result is
// an any, since this package can't import that one.
var Secret func(key [16]byte) any
