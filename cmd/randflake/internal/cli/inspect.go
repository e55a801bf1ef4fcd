package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

const inspectUsage = `Usage: randflake inspect [-json] [-kind K] [-layout L] [-from FORM] [-store STORE] [-secret-file F]
                         [ID]...

Shows what IDs hold: when each was made, where, and its number. Without an ID it reads them from
standard input, one a line. A negative number is an ID and no flag; so is all that follows "--".

Randflake IDs open with their secret, Snowflake IDs and ULIDs without one. 26 digits are a ULID. A
text of up to 13 digits with letters among them is a Randflake ID, and so is a hexadecimal or a
negative number. Any other number can be a Randflake ID, if there is a secret here, or a Snowflake
ID of some layout: it is shown in a line for each reading whose time is after the layout's epoch and
not more than a minute ahead, the newest first, as most IDs that anybody asks about are new. That is
an order and no answer: -kind and -layout say what an ID is.

  -kind K       randflake, snowflake or ulid
  -layout L     the layout of Snowflake IDs, whose -kind need not be said then: see "randflake new -h"
  -json         print one JSON object a line: id (the text form), int (the decimal form, as a string
                because many programs round such numbers), time and the other fields by their names.
                Before them comes kind, except where an ID can only be a Randflake ID, and the layout
                of Snowflake IDs
  -from FORM    how IDs are written:
                text   1 to 13 base32hex digits; decimal for snowflake; 26 digits for ulid
                int    a decimal number of 64 bits, signed or not
                hex    1 to 16 hexadecimal digits, after 0x or without
                base32, base58, base62   as "randflake new" writes Snowflake IDs
                auto   (the default) tells by what it sees, and refuses up to 13 decimal digits,
                       which can be text as well as a number, unless -kind or -layout says more

No ID is authenticated: with another secret, or in another layout, it opens too, to something else. A
time in the future gives that away.
` + homeUsage

func (t *tool) runInspect(_ context.Context, args []string) error {
	flags := newFlags("inspect", inspectUsage)
	in := inspector{tool: t, now: time.Now}
	var h home
	flags.kindFlags(&in.choiceOfKind)
	flags.homeFlags(&h)
	flags.choice(&in.from, "from", "auto", "text", "int", "hex", "base32", "base58", "base62")
	flags.BoolVar(&in.json, "json", false, "")
	ids, err := flags.parse(t, args)
	if err != nil {
		return err
	}
	if err := in.settle(h); err != nil {
		return flags.wrong("%v", err)
	}
	if in.kind == "" || in.kind == kindRandflake {
		if err := in.findSecret(h); err != nil {
			return err
		}
	}
	return t.answerAll(ids, in.answer)
}

// An inspector opens IDs and tells what they hold.
type inspector struct {
	*tool
	choiceOfKind
	from     string
	json     bool
	cipher   *randflake.Cipher // or nil
	noSecret error             // why there is no cipher
	now      func() time.Time
	warned   bool // of a time in the future
}

// settle completes what the user chose, or says which flags do not go together.
func (in *inspector) settle(h home) error {
	if err := in.choiceOfKind.settle(); err != nil {
		return err
	}
	ofSnowflake := strings.HasPrefix(in.from, "base")
	if ofSnowflake {
		in.kind = cmp.Or(in.kind, kindSnowflake)
	}
	switch {
	case ofSnowflake && in.kind != kindSnowflake:
		return fmt.Errorf("-from %s is for -kind %s", in.from, kindSnowflake)
	case in.kind == kindULID && in.from != "auto" && in.from != "text":
		return fmt.Errorf("-from %s: want text, the 26 digits of a ULID", in.from)
	case in.kind != "" && in.kind != kindRandflake && (h.store != "" || h.secretFile != ""):
		return fmt.Errorf("-secret-file and -store are for -kind %s: %s IDs open without a secret", kindRandflake, in.kind)
	}
	return nil
}

// findSecret reads the secret. Where the user named none, and there is none, that may do no harm.
func (in *inspector) findSecret(h home) error {
	err := h.resolve(in.tool)
	var secret randflake.Secret
	if err == nil {
		secret, err = h.readSecret()
	}
	switch {
	case err == nil:
		in.cipher = randflake.NewCipher(secret)
	case h.implied && (h.place.dir == "" || errors.Is(err, fs.ErrNotExist)):
		in.noSecret = err
	default:
		return err
	}
	return nil
}

// answer appends what the ID in text can hold.
func (in *inspector) answer(b []byte, text string) ([]byte, error) {
	if len(text) >= longestLine {
		return b, fmt.Errorf("%w: more than %d characters: want one ID a line", randflake.ErrInvalidID, longestLine-1)
	}
	if in.from == "auto" {
		text = unquote(text)
	}
	kind := in.kindOf(text)
	readings, err := in.read(kind, text)
	if err != nil {
		return b, err
	}
	labelled := kind != kindRandflake
	for _, r := range readings {
		if in.json {
			b = r.appendJSON(b, labelled)
		} else {
			b = r.appendLine(b, labelled)
		}
	}
	return b, nil
}

// kindOf returns the kind of the ID in text, or nothing for a number that can be of several.
func (in *inspector) kindOf(text string) string {
	switch {
	case in.kind != "":
		return in.kind
	case in.from != "int" && in.from != "hex" && isULID(text):
		return kindULID
	case isDecimal(text) && (in.from == "int" || in.from == "auto" && formOf(text) == "int"):
		return ""
	}
	return kindRandflake
}

// read returns what text can be read as.
func (in *inspector) read(kind, text string) ([]reading, error) {
	switch kind {
	case kindULID:
		return in.only(readULID(text))
	case kindRandflake:
		id, err := parseID(text, in.from)
		if err != nil {
			return nil, err
		}
		if in.cipher == nil {
			return nil, fatal{in.noSecret}
		}
		return in.only(readRandflake(in.cipher, id), nil)
	case kindSnowflake:
		id, err := parseSnowflake(text, in.from)
		switch {
		case err != nil:
			return nil, err
		case in.layout != nil:
			return in.only(readSnowflake(in.layout, id))
		}
		return in.plausible(text, snowflakeReadings(id))
	}
	id, err := parseNumber(text)
	if err != nil {
		return nil, err
	}
	readings := snowflakeReadings(snowflake.ID(id))
	if in.cipher != nil {
		readings = append(readings, readRandflake(in.cipher, id))
	}
	return in.plausible(text, readings)
}

// only returns the one reading of an ID whose kind is known, and warns once of a time in the future.
func (in *inspector) only(r reading, err error) ([]reading, error) {
	if err == nil && !in.warned && r.time.After(in.now()) {
		in.warned = true
		in.note(fmt.Errorf("%s holds a time in the future, %s: %s", r.id, r.time.Format(r.timeForm), r.suspicion()))
	}
	return []reading{r}, err
}

// plausible returns those readings that are plausible. That there is none is an error.
func (in *inspector) plausible(text string, readings []reading) ([]reading, error) {
	readings = plausible(readings, in.now())
	if len(readings) > 0 {
		return readings, nil
	}
	advice := "say with -kind or -layout what it is"
	if in.noSecret != nil {
		advice += ", or name a secret with -secret-file"
	}
	return nil, fmt.Errorf("%w: %.40q: no kind and layout gives a time from the epoch to now: %s", randflake.ErrInvalidID, text, advice)
}

// parseID reads a Randflake ID written in the form from.
func parseID(text, from string) (randflake.ID, error) {
	if from == "auto" {
		if isAmbiguous(text) {
			return 0, fmt.Errorf("%.40q can be text or a decimal number: say which with -from text or -from int", text)
		}
		from = formOf(text)
	}
	switch from {
	case "int":
		return parseInt(text)
	case "hex":
		return parseHex(text)
	}
	return randflake.Parse(text)
}

// formOf tells how text, which is not ambiguous, is written.
func formOf(text string) string {
	switch {
	case hasHexPrefix(text):
		return "hex"
	case strings.HasPrefix(text, "-"), len(text) > 13 && isDecimal(text):
		return "int"
	}
	return "text"
}

// isAmbiguous reports whether text can be read as base32hex and as decimal, with different results.
func isAmbiguous(text string) bool {
	return isDecimal(text) && len(text) <= 13 && len(strings.TrimLeft(text, "0")) > 1
}

// unquote takes the quotes off a JSON string.
func unquote(text string) string {
	if len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

func hasHexPrefix(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}

// parseSnowflake reads a Snowflake ID written in the form from.
func parseSnowflake(text, from string) (snowflake.ID, error) {
	switch {
	case from == "base32":
		return snowflake.ParseBase32(text)
	case from == "base58":
		return snowflake.ParseBase58(text)
	case from == "base62":
		return snowflake.ParseBase62(text)
	case from == "hex" || from == "auto" && hasHexPrefix(text):
		id, err := parseHex(text)
		return snowflake.ID(id), err
	}
	return snowflake.Parse(text)
}

// parseNumber reads the digits of what can be an ID of any kind. Those of Randflake are also written
// unsigned.
func parseNumber(text string) (randflake.ID, error) {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits", randflake.ErrInvalidID, text)
	}
	return randflake.ID(value), nil
}

func parseInt(text string) (randflake.ID, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%w: %.40q is more than a signed number of 64 bits holds", randflake.ErrInvalidID, text)
	case err != nil:
		return 0, fmt.Errorf("%w: %.40q is not a decimal number", randflake.ErrInvalidID, text)
	}
	return randflake.ID(value), nil
}

func parseHex(text string) (randflake.ID, error) {
	digits := text
	if hasHexPrefix(text) {
		digits = text[2:]
	}
	value, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), len(digits) > 16:
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits: want up to 16 hexadecimal digits", randflake.ErrInvalidID, text)
	case err != nil:
		return 0, fmt.Errorf("%w: %.40q is not a hexadecimal number", randflake.ErrInvalidID, text)
	}
	return randflake.ID(value), nil
}
