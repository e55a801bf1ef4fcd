// Package dialect writes functions that open, make, mask and unmask IDs in the languages of databases. The cipher in them is
// described once, by expressions that each dialect spells in its own operators. A template has what is around them.
//
// The cipher's four words a, b, c, d are one integer, s, with a in its lowest 16 bits. Expressions work on both branches at
// a time: on a and c, or on b and d, with 16 bits free above each. A key is 33 integers like s: for each of eight steps the
// keys of three rounds and a zero, then the last key. So each of 32 operations, a round or at every fourth place the linear
// layer, is followed by the next key. What occurs in an operation several times is in the variable t.
package dialect

import (
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
	return strings.NewReplacer(dialects[name].expressions()...).Replace(template(name))
}

// Default returns what makes IDs of a node, which nobody else may have, as the default of columns. It needs the functions of Text.
func Default(name string, node uint32) string {
	return strings.ReplaceAll(template(name+"-default"), "{{node}}", fmt.Sprint(node))
}

func template(name string) string {
	text, err := templates.ReadFile(name + ".sql")
	if err != nil {
		panic(err) // never: each of Names has its files
	}
	return string(text)
}

// A dialect has the formats of what dialects write in different ways.
type dialect struct {
	with string // xor
	turn string // words, rotated left by 16 less the second operand: a product of 64 bits is an error if integers are signed
	id   string // the integer to encrypt or decrypt
	word string // the big-endian word at a byte of the secret
	high string // the mask of the second branch
}

var dialects = map[string]dialect{
	"postgres": {
		with: "(%s # %s)",
		turn: "(((%[1]s << 16) | %[1]s) >> %[2]d & " + words + ")",
		id:   "id",
		word: "(get_byte(b, %[1]d) << 8 | get_byte(b, %[1]d + 1))::bigint",
		high: "-4294967296",
	},
	"mysql": {
		with: "(%s ^ %s)",
		turn: "(((%s * 65537) >> %d) & " + words + ")",
		id:   "CAST(IF(id < 0, id + 18446744073709551616, id) AS UNSIGNED)",
		word: "CAST(CONV(SUBSTR(secret, 2 * %d + 1, 4), 16, 10) AS UNSIGNED)",
		high: "18446744069414584320",
	},
}

const (
	words = "281470681808895" // 0x0000ffff0000ffff: a and c, or b and d
	above = "281474976776192" // 0x0001000000010000: a bit above each, for subtractions to borrow
	low   = "4294967295"      // 0x00000000ffffffff: the first branch
)

func do(a, operator, b string) string { return "(" + a + " " + operator + " " + b + ")" }
func ac(s string) string              { return do(s, "&", words) }
func bd(s string) string              { return ac(do(s, ">>", "16")) }
func join(ac, bd string) string       { return do(ac, "|", do(bd, "<<", "16")) }

func (d dialect) rol(v string, n int) string { return fmt.Sprintf(d.turn, v, 16-n) }
func (d dialect) xor(a, b string) string     { return fmt.Sprintf(d.with, a, b) }

// swap returns s with the bytes of each word exchanged, which turns little-endian bytes into words and back.
func (d dialect) swap(s string) string { return join(d.rol(ac(s), 8), d.rol(bd(s), 8)) }

// mix returns s after the linear layer: the branches change places, and one of them, target, gets the other mixed in.
func (d dialect) mix(target string) string {
	swapped := do(do(do("s", ">>", "32"), "&", low), "|", do(do("s", "&", low), "<<", "32"))
	return d.xor(swapped, do(d.xor("s", join("t", "t")), "&", target))
}

// expressions returns what stands for what in a template, by turns.
func (d dialect) expressions() []string {
	// Of a round and its inverse; t is a and c after the round, and b and d before it.
	round := join("t", d.xor(d.rol(bd("s"), 2), "t"))
	before := do(do(ac("s"), "+", above), "-", "t")
	unround := join(d.rol(ac(before), 7), "t")
	mixed := ac(d.xor("s", do("s", ">>", "16"))) // a ^ b and c ^ d
	return []string{
		"{{load}}", d.swap(d.id),
		"{{store}}", d.swap("s"),
		"{{round t}}", ac(do(d.rol(ac("s"), 9), "+", bd("s"))),
		"{{round}}", round,
		"{{unround t}}", d.rol(mixed, 14),
		"{{unround}}", unround,
		"{{mix t}}", d.rol(mixed, 8),
		"{{mix}}", d.mix(low),
		"{{unmix}}", d.mix(d.high),
		"{{keys}}", d.keys(),
	}
}

// keys returns the tables of a recursive query for the round keys.
func (d dialect) keys() string {
	var secret, w []string
	for n := range 8 {
		secret = append(secret, fmt.Sprintf(d.word, 2*n))
		w = append(w, fmt.Sprintf("w%d", n))
	}
	return strings.NewReplacer(
		"{{start}}", strings.Join(secret, ", "),
		"{{next}}", d.next(w),
		"{{w0}}", key("p.w0", "p.w1", "q.w0", "q.w1"),
		"{{w2}}", key("p.w2", "p.w3", "q.w2", "q.w3"),
		"{{w4}}", key("p.w4", "p.w5", "q.w4", "q.w5"),
		"{{last}}", key("w0", "w1", "w2", "w3"),
	).Replace(keys)
}

// next returns the words that the key schedule has after the words w, in turn i + 1.
func (d dialect) next(w []string) string {
	sum := func(a, b string) string { return do(do(a, "+", b), "&", "65535") }
	x := sum(d.rol(w[0], 9), w[1])
	y := d.xor(d.rol(w[1], 2), x)
	return strings.Join([]string{
		w[6],
		sum(w[7], "(i + 1)"),
		x,
		y,
		sum(w[2], x),
		sum(w[3], y),
		w[4],
		w[5],
	}, ", ")
}

func key(a, b, c, d string) string {
	return join(do(a, "|", do(c, "<<", "32")), do(b, "|", do(d, "<<", "32")))
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
