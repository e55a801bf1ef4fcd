package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
)

const inspectUsage = `Usage: randflake inspect [-json] [-from FORM] [-store STORE] [-secret-file F] [ID]...

Shows what IDs hold: the second in which each was made, the node and the sequence number. Without
an ID it reads them from standard input, one a line. A negative number is an ID and no flag; so is
all that follows "--".

  -json         print one JSON object a line: id (the text form), int (the decimal form, as a string
                because many programs round such numbers), time, node, sequence
  -from FORM    how IDs are written:
                text   1 to 13 base32hex digits
                int    a signed decimal number of 64 bits
                hex    1 to 16 hexadecimal digits, after 0x or without
                auto   (the default) tells by what it sees, and refuses up to 13 decimal digits,
                       which can be text as well as a number

An ID is not authenticated: with another secret it opens too, to something else. A time in the
future gives that away.
` + homeUsage

func (t *tool) runInspect(_ context.Context, args []string) error {
	flags := newFlags("inspect", inspectUsage)
	var h home
	var from string
	flags.homeFlags(&h)
	flags.choice(&from, "from", "auto", "text", "int", "hex")
	asJSON := flags.Bool("json", false, "")
	ids, err := flags.parse(t, args)
	if err != nil {
		return err
	}
	if err := h.resolve(t); err != nil {
		return err
	}
	secret, err := h.readSecret()
	if err != nil {
		return err
	}
	in := &inspector{tool: t, cipher: randflake.NewCipher(secret), from: from, json: *asJSON, out: bufio.NewWriter(t.stdout)}
	if len(ids) > 0 {
		err = in.arguments(ids)
	} else {
		err = in.lines(t.stdin)
	}
	if err == nil && in.bad {
		err = errReported
	}
	return err
}

// An inspector opens IDs and prints what they hold.
type inspector struct {
	*tool
	cipher *randflake.Cipher
	from   string
	json   bool
	out    *bufio.Writer
	line   []byte
	bad    bool // a line held no ID
	warned bool // of a time in the future
}

// arguments inspects all IDs or, if one is wrong, none.
func (in *inspector) arguments(texts []string) error {
	ids := make([]randflake.ID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = parseID(text, in.from); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := in.show(id); err != nil {
			return err
		}
	}
	return outputError(in.out.Flush())
}

// longestLine is more than an ID takes in any form.
const longestLine = 4096

// lines inspects an ID for each line of input and passes over lines that hold none. It prints what
// it has before it waits for more.
func (in *inspector) lines(input io.Reader) error {
	r := bufio.NewReaderSize(input, longestLine)
	for number := 1; ; number++ {
		text, readErr := readLine(r)
		if readErr != nil && readErr != io.EOF {
			in.out.Flush()
			return fmt.Errorf("standard input: %w", reason(readErr))
		}
		if err := in.inspectLine(number, text); err != nil {
			return err
		}
		if r.Buffered() == 0 || readErr == io.EOF {
			if err := in.out.Flush(); err != nil {
				return outputError(err)
			}
		}
		if readErr == io.EOF {
			return nil
		}
	}
}

// inspectLine shows the ID in text, if any, or says that there is none. Its error is one of output.
func (in *inspector) inspectLine(number int, text string) error {
	if text == "" {
		return nil
	}
	id, err := parseID(text, in.from)
	if err != nil {
		in.bad = true
		in.note(fmt.Errorf("line %d: %w", number, err))
		return nil
	}
	return in.show(id)
}

// readLine returns the next line without the white space around it. Of a line that is too long to
// be an ID it returns the beginning.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	text := strings.TrimSpace(string(line))
	for err == bufio.ErrBufferFull {
		text = string(line) // with the white space, if that is all there is
		_, err = r.ReadSlice('\n')
	}
	return text, err
}

// show prints what id holds.
func (in *inspector) show(id randflake.ID) error {
	fields, err := in.cipher.Inspect(id)
	if err != nil {
		return err
	}
	if !in.warned && fields.Time.After(time.Now()) {
		in.warned = true
		in.note(fmt.Errorf("%v holds a time in the future, %s: it was made with another secret, or forged", id, fields.Time.Format(time.RFC3339)))
	}
	in.line = in.line[:0]
	if in.json {
		in.line = appendFieldsJSON(in.line, id, fields)
	} else {
		in.line = appendFields(in.line, id, fields)
	}
	_, err = in.out.Write(in.line)
	return outputError(err)
}

func appendFields(b []byte, id randflake.ID, f randflake.Fields) []byte {
	return fmt.Appendf(b, "%-13s  %s  node %6d  sequence %6d\n", id, f.Time.Format(time.RFC3339), f.Node, f.Sequence)
}

func appendFieldsJSON(b []byte, id randflake.ID, f randflake.Fields) []byte {
	return fmt.Appendf(b, `{"id":"%s","int":"%d","time":"%s","node":%d,"sequence":%d}`+"\n",
		id, int64(id), f.Time.Format(time.RFC3339), f.Node, f.Sequence)
}

// parseID reads an ID written in the form from.
func parseID(text, from string) (randflake.ID, error) {
	if len(text) >= longestLine {
		return 0, fmt.Errorf("%w: more than %d characters: want one ID a line", randflake.ErrInvalidID, longestLine-1)
	}
	if from == "auto" {
		text = unquote(text)
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
