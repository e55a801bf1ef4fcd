package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A filter answers each operand or, without any, each line of standard input.
type filter struct {
	*tool

	// answer appends the answer to text, in whole lines. An error is one of the text, unless it is fatal.
	answer func(b []byte, text string) ([]byte, error)

	out *bufio.Writer
	buf []byte
	bad bool // a line had no answer
}

// A fatal error is one that no other line would do without.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// answerAll runs a filter.
func (t *tool) answerAll(operands []string, answer func(b []byte, text string) ([]byte, error)) error {
	f := &filter{tool: t, answer: answer, out: bufio.NewWriter(t.stdout)}
	if len(operands) > 0 {
		return f.arguments(operands)
	}
	if err := f.lines(t.stdin); err != nil {
		return err
	}
	if f.bad {
		return errReported
	}
	return nil
}

// arguments answers all texts or, if one is wrong, none.
func (f *filter) arguments(texts []string) (err error) {
	var all []byte
	for _, text := range texts {
		if all, err = f.answer(all, text); err != nil {
			return err
		}
	}
	return f.print(string(all))
}

// longestLine is more than an ID takes in any form.
const longestLine = 4096

// lines answers each line of input and passes over those that have no answer. It prints what it has
// before it waits for more.
func (f *filter) lines(input io.Reader) error {
	r := bufio.NewReaderSize(input, longestLine)
	for number := 1; ; number++ {
		text, readErr := readLine(r)
		if readErr != nil && readErr != io.EOF {
			f.out.Flush()
			return fmt.Errorf("standard input: %w", reason(readErr))
		}
		if err := f.line(number, text); err != nil {
			f.out.Flush()
			return err
		}
		if r.Buffered() == 0 || readErr == io.EOF {
			if err := f.out.Flush(); err != nil {
				return outputError(err)
			}
		}
		if readErr == io.EOF {
			return nil
		}
	}
}

// line answers text, if any, or says that it can't. Its error is one that ends the work.
func (f *filter) line(number int, text string) (err error) {
	if text == "" {
		return nil
	}
	f.buf, err = f.answer(f.buf[:0], text)
	if end := (fatal{}); errors.As(err, &end) {
		return end
	}
	if err != nil {
		f.bad = true
		f.note(fmt.Errorf("line %d: %w", number, err))
		return nil
	}
	_, err = f.out.Write(f.buf)
	return outputError(err)
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
