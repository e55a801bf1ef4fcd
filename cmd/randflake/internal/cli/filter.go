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

	// answer appends the answer to text, in whole lines. The error says why there is no answer, or why it is bad.
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

// longestLine is the maximum length of a line, far longer than any ID.
const longestLine = 4096

// lines answers each line of input. It prints what it has before it waits for more.
func (f *filter) lines(input io.Reader) error {
	r := bufio.NewReaderSize(input, longestLine)
	for number := 1; ; number++ {
		text, readErr := readLine(r)
		place := fmt.Sprintf("line %d: ", number)
		var err error
		switch {
		case readErr == bufio.ErrBufferFull:
			err = f.refuse(fmt.Errorf("%slonger than %d bytes: want an ID", place, longestLine))
		case readErr != nil && readErr != io.EOF:
			return fmt.Errorf("standard input: %w", readErr)
		case text != "":
			err = f.one(place, text)
		}
		if err == nil && r.Buffered() == 0 {
			err = outputError(f.out.Flush())
		}
		if err != nil || readErr == io.EOF {
			return err
		}
	}
}

// readLine returns the next line. If the line is too long, readLine skips it and returns bufio.ErrBufferFull.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return strings.TrimSpace(string(line)), err
	}
	for err == bufio.ErrBufferFull {
		_, err = r.ReadSlice('\n')
	}
	return "", bufio.ErrBufferFull
}

// one answers the text at a place, and prints the error of the answer. It returns only errors of the output.
func (f *filter) one(place, text string) error {
	var wrong error
	f.buf, wrong = f.answer(f.buf[:0], text)
	if _, err := f.out.Write(f.buf); err != nil {
		return outputError(err)
	}
	if wrong != nil {
		return f.refuse(fmt.Errorf("%s%w", place, wrong))
	}
	return nil
}

// refuse prints what is wrong with a text. It flushes earlier answers first, so that a terminal shows them in order.
func (f *filter) refuse(wrong error) error {
	f.bad = true
	err := f.out.Flush()
	if err == nil {
		f.note(wrong)
	}
	return outputError(err)
}
