package mask

import "github.com/randflake/randflake"

// hide encrypts what an ID holds in memory, under a key that lives as long as the process. Methods
// alone can't keep package fmt from printing what a struct holds, because fmt does not call them for
// unexported fields or for the verb %p, and other code looks into structs by reflection too. The
// hidden value is useless to both. It costs one Encrypt, which is negligible beside a database
// access. Zero is hidden as zero, so the zero ID is valid.
func hide(inner randflake.Raw) randflake.ID { return hidingKey.Encrypt(inner) ^ hiddenZero }

func reveal(hidden randflake.ID) randflake.Raw { return hidingKey.Decrypt(hidden ^ hiddenZero) }

var (
	hidingKey  = randflake.NewCipher(randflake.NewSecret())
	hiddenZero = hidingKey.Encrypt(0)
)
