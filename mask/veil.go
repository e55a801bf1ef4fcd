package mask

import "github.com/randflake/randflake"

// An ID in memory is veiled: encrypted under a key that lives as long as the process. Methods alone can't keep package
// fmt from printing what a struct holds, because fmt does not call them for unexported fields or for the verb %p, and
// other code looks into structs by reflection too. The veiled value is useless to both. The veil of zero is zero, so
// the zero ID is valid. It costs one Encrypt or Decrypt, which is negligible beside a database access.
var (
	veilKey  = randflake.NewCipher(randflake.NewSecret())
	veilZero = veilKey.Encrypt(0)
)

func veil(inner randflake.Raw) randflake.ID { return veilKey.Encrypt(inner) ^ veilZero }

func unveil(veiled randflake.ID) randflake.Raw { return veilKey.Decrypt(veiled ^ veilZero) }
