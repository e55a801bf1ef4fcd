// Package dialect writes functions that open, mask and unmask IDs in the languages of databases. The cipher in them is
// described once, by expressions that each dialect spells in its own operators. A template has what is around them.
//
// The cipher's four words a, b, c, d are one integer, s, with a in its lowest 16 bits. Expressions work on both branches at
// a time: on a and c, or on b and d, with 16 bits free above each. A key is 33 integers like s: for each of eight steps the
// keys of three rounds and a zero, then the last key. So each of 32 operations, a round or at every fourth place the linear
// layer, is followed by the next key.
package dialect

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
)

//go:embed *.sql
var templates embed.FS

// Names are those of the dialects.
var Names = []string{"postgres", "mysql"}

// Text returns the functions for one of Names.
func Text(name string) string {
	return strings.NewReplacer(dialects[name].expressions()...).Replace(read(name + ".sql"))
}

func read(name string) string {
	text, err := templates.ReadFile(name)
	if err != nil {
		panic(err) // never: each of Names has its file
	}
	return string(text)
}

// A dialect has the formats of operators that it does not write as Go does, and of
//
//	rol    words, rotated left by 16 less the second operand
//	id     the integer to encrypt or decrypt, where its type is not the one of s
//	word   the big-endian word at a byte of the secret
//	upper  the mask of the second branch
type dialect map[string]string

// Rotations: a product of 64 bits is an error if integers are signed.
const (
	byShifts  = "(((%[1]s << 16) | %[1]s) >> %[2]d & " + words + ")"
	byProduct = "(((%s * 65537) >> %d) & " + words + ")"
	signed    = "-4294967296"
)

var dialects = map[string]dialect{
	"postgres": {"t": "t", "^": "(%s # %s)", "rol": byShifts, "upper": signed, "word": "(get_byte(b, %[1]d) << 8 | get_byte(b, %[1]d + 1))::bigint"},
	"mysql": {"t": "t", "rol": byProduct, "id": "CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED)",
		"word": "CAST(CONV(SUBSTR(secret, 2 * %d + 1, 4), 16, 10) AS UNSIGNED)"},
}

const (
	words = "281470681808895" // 0x0000ffff0000ffff: a and c, or b and d
	above = "281474976776192" // 0x0001000000010000: a bit above each, for subtractions to borrow
	lower = "4294967295"      // 0x00000000ffffffff: the first branch
)

func (d dialect) do(a, operator, b string) string {
	return fmt.Sprintf(cmp.Or(d[operator], "(%s "+operator+" %s)"), a, b)
}

func (d dialect) shl(a string, n int) string {
	return fmt.Sprintf("(%s << %d)", a, n)
}

func (d dialect) rol(v string, n int) string { return fmt.Sprintf(d["rol"], v, 16-n) }
func (d dialect) xor(a, b string) string     { return d.do(a, "^", b) }
func (d dialect) and(a, b string) string     { return d.do(a, "&", b) }
func (d dialect) ac(s string) string         { return d.and(s, words) }
func (d dialect) bd(s string) string         { return d.and(d.do(s, ">>", "16"), words) }
func (d dialect) join(ac, bd string) string  { return d.do(ac, "|", d.shl(bd, 16)) }

// swap returns s with the bytes of each word exchanged, which turns little-endian bytes into words and back.
func (d dialect) swap(s string) string { return d.join(d.rol(d.ac(s), 8), d.rol(d.bd(s), 8)) }

// Each operation has an integer that occurs in it several times. Most dialects have it in a variable or a column, t.

// round returns a and c, and s, after a round, whose key s has.
func (d dialect) round() (t, s string) {
	t = d.ac(d.do(d.rol(d.ac("s"), 9), "+", d.bd("s")))
	x := cmp.Or(d["t"], t)
	return t, d.join(x, d.xor(d.rol(d.bd("s"), 2), x))
}

// unround is the inverse of round. t is b and d.
func (d dialect) unround() (t, s string) {
	t = d.rol(d.ac(d.xor("s", d.do("s", ">>", "16"))), 14)
	y := cmp.Or(d["t"], t)
	return t, d.join(d.rol(d.ac(d.do(d.do(d.ac("s"), "+", above), "-", y)), 7), y)
}

// mix returns s after the linear layer: the branches change places, and the first is mixed into the second. In the
// inverse, target is the upper half. t is a ^ b and c ^ d, rotated.
func (d dialect) mix(target string) (t, s string) {
	t = d.rol(d.ac(d.xor("s", d.do("s", ">>", "16"))), 8)
	v := cmp.Or(d["t"], t)
	swapped := d.do(d.and(d.do("s", ">>", "32"), lower), "|", d.shl(d.and("s", lower), 32))
	return t, d.xor(swapped, d.and(d.xor("s", d.join(v, v)), target))
}

// expressions returns what stands for what in a template.
func (d dialect) expressions() []string {
	var secret, w []string
	for n := range 8 {
		secret = append(secret, fmt.Sprintf(d["word"], 2*n))
		w = append(w, fmt.Sprintf("w%d", n))
	}
	start := strings.Join(secret, ", ")
	load := d.swap(cmp.Or(d["id"], "id"))
	roundT, round := d.round()
	unroundT, unround := d.unround()
	mixT, mix := d.mix(lower)
	_, unmix := d.mix(cmp.Or(d["upper"], "18446744069414584320"))
	return []string{
		"{{load}}", load, "{{store}}", d.swap("s"), "{{round t}}", roundT, "{{unround t}}", unroundT, "{{mix t}}", mixT,
		"{{round}}", round, "{{unround}}", unround, "{{mix}}", mix, "{{unmix}}", unmix,
		"{{load ^ k}}", d.xor(load, "k"), "{{round ^ k}}", d.xor(round, "k"), "{{mix ^ k}}", d.xor(mix, "k"),
		"{{unround ^ k}}", d.xor(unround, "k"), "{{unmix ^ k}}", d.xor(unmix, "k"),
		"{{start}}", start, "{{next}}", d.next(w, "i"),
		"{{keys}}", strings.NewReplacer("{{start}}", start, "{{next}}", d.next(w, "(i + 1)"),
			"{{w0}}", d.key("p.w0", "p.w1", "q.w0", "q.w1"), "{{w2}}", d.key("p.w2", "p.w3", "q.w2", "q.w3"),
			"{{w4}}", d.key("p.w4", "p.w5", "q.w4", "q.w5"), "{{last}}", d.key("w0", "w1", "w2", "w3")).Replace(keys),
	}
}

// next returns the words that the key schedule has after the words w, in its turn i.
func (d dialect) next(w []string, i string) string {
	sum := func(a, b string) string { return d.and(d.do(a, "+", b), "65535") }
	x := sum(d.rol(w[0], 9), w[1])
	y := d.xor(d.rol(w[1], 2), x)
	return strings.Join([]string{w[6], sum(w[7], i), x, y, sum(w[2], x), sum(w[3], y), w[4], w[5]}, ", ")
}

func (d dialect) key(a, b, c, e string) string {
	return d.join(d.do(a, "|", d.shl(c, 32)), d.do(b, "|", d.shl(e, 32)))
}

// keys are the tables of a recursive query.
const keys = `w(i, w0, w1, w2, w3, w4, w5, w6, w7) AS (
      SELECT 0, {{start}}
      UNION ALL
      SELECT i + 1, {{next}} FROM w WHERE i < 16
    ), expanded(i, k) AS (
      SELECT 2 * p.i, {{w0}} FROM w p JOIN w q ON q.i = p.i + 1 AND p.i % 2 = 0 UNION ALL
      SELECT 2 * p.i + 1, {{w2}} FROM w p JOIN w q ON q.i = p.i + 1 AND p.i % 2 = 0 UNION ALL
      SELECT 2 * p.i + 2, {{w4}} FROM w p JOIN w q ON q.i = p.i + 1 AND p.i % 2 = 0 UNION ALL
      SELECT 2 * i + 3, 0 FROM w WHERE i % 2 = 0 AND i < 16 UNION ALL
      SELECT 32, {{last}} FROM w WHERE i = 16
    )`
