// Package bases writes Snowflake IDs as numbers to other bases than ten, and reads them.
//
// Bases 32, 58 and 62 are padded to the width of the largest ID, with digits in the order of ASCII, so texts sort in
// the order of the IDs. Bases 2, 36 and 64 are compatible with github.com/bwmarrin/snowflake. In each base an ID has
// exactly one text. The Parse functions accept no other text, and their errors wrap [randflake.ErrInvalidID].
package bases
