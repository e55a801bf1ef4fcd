package mask

import "github.com/randflake/randflake"

// hide encrypts what an ID holds in memory, so that code that looks into structs and calls no methods
// does not see it, as package fmt with unexported fields. It costs one Encrypt, which is negligible
// beside a database access. Zero is hidden as zero, so the zero ID is valid.
func hide(inner randflake.Raw) randflake.ID { return hidingKey.Encrypt(inner) ^ hiddenZero }

func reveal(hidden randflake.ID) randflake.Raw { return hidingKey.Decrypt(hidden ^ hiddenZero) }

var (
	hidingKey  = randflake.NewCipher(randflake.NewSecret())
	hiddenZero = hidingKey.Encrypt(0)
)
