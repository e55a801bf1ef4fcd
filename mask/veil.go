package mask

import "github.com/randflake/randflake"

// An ID in memory is veiled, that is, encrypted under a key that lives as long as the process. Methods can't keep
// package fmt from printing what a struct holds: it does not ask them for an unexported field or the verb %p, and other
// code looks into structs by reflection as well. What it finds there is of no use. The veil of zero is zero, so that
// the zero ID is a good one. It costs one Encrypt or Decrypt, which nobody notices beside a database.
var (
	veilKey  = randflake.NewCipher(randflake.NewSecret())
	veilZero = veilKey.Encrypt(0)
)

func veil(inner randflake.Raw) randflake.ID { return veilKey.Encrypt(inner) ^ veilZero }

func unveil(veiled randflake.ID) randflake.Raw { return veilKey.Decrypt(veiled ^ veilZero) }
