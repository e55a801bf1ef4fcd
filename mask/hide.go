package mask

import "github.com/randflake/randflake"

// An ID in memory is hidden: encrypted under a key that lives as long as the process. Methods alone
// can't keep package fmt from printing what a struct holds, because fmt does not call them for
// unexported fields or for the verb %p, and other code looks into structs by reflection too. The
// hidden value is useless to both. Zero is hidden as zero, so the zero ID is valid. It costs one
// Encrypt or Decrypt, which is negligible beside a database access.
var (
	hidingKey  = randflake.NewCipher(randflake.NewSecret())
	hiddenZero = hidingKey.Encrypt(0)
)

func hide(inner randflake.Raw) randflake.ID { return hidingKey.Encrypt(inner) ^ hiddenZero }

func reveal(hidden randflake.ID) randflake.Raw { return hidingKey.Decrypt(hidden ^ hiddenZero) }
