package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A filter answers each operand or, without any, each line of standard input.
type filter struct {
	*tool

	// answer appends the answer to text, in whole lines, or says why there is none or not a good one.
	answer func(b []byte, text string) ([]byte, error)

	out *bufio.Writer
	buf []byte
	bad bool // there was an error
}

// answerAll runs a filter.
func (t *tool) answerAll(operands []string, answer func(b []byte, text string) ([]byte, error)) (err error) {
	f := &filter{tool: t, answer: answer, out: bufio.NewWriter(t.stdout)}
	for _, text := range operands {
		if err = f.one("", strings.TrimSpace(text)); err != nil {
			break
		}
	}
	if len(operands) == 0 {
		err = f.lines(t.stdin)
	}
	if flushErr := f.out.Flush(); err == nil {
		err = outputError(flushErr)
	}
	if err == nil && f.bad {
		return errReported
	}
	return err
}

// lines answers each line of input. It prints what it has before it waits for more.
func (f *filter) lines(input io.Reader) error {
	r := bufio.NewReader(input)
	for number := 1; ; number++ {
		line, readErr := r.ReadString('\n')
		if readErr != nil && readErr != io.EOF {
			return fmt.Errorf("standard input: %w", readErr)
		}
		if text := strings.TrimSpace(line); text != "" {
			if err := f.one(fmt.Sprintf("line %d: ", number), text); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if r.Buffered() == 0 {
			if err := f.out.Flush(); err != nil {
				return outputError(err)
			}
		}
	}
}

// one answers the text at some place, and notes its error. The error that it returns is one of the output.
func (f *filter) one(place, text string) error {
	var wrong error
	f.buf, wrong = f.answer(f.buf[:0], text)
	_, err := f.out.Write(f.buf)
	if wrong != nil && err == nil {
		f.bad = true
		if err = f.out.Flush(); err == nil { // on a terminal, the answers before come before
			f.note(fmt.Errorf("%s%w", place, wrong))
		}
	}
	return outputError(err)
}
