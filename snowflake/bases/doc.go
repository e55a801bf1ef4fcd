// Package bases writes Snowflake IDs as numbers to other bases than ten, and reads them.
//
// Bases 32, 58 and 62 are padded to the width of the largest ID, with digits in the order of ASCII, so that texts sort as
// IDs do. Bases 2, 36 and 64 are those of github.com/bwmarrin/snowflake. In each base an ID has exactly one text: the
// Parse functions take no other, and their errors wrap [snowflake.ErrInvalidID].
package bases
