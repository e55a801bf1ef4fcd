package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A filter answers each operand or, without any, each line of standard input.
type filter struct {
	*tool
	answer answerer
	out    *bufio.Writer
	buf    []byte
	failed bool // a text had an error
	isNo   bool // a text had an answer that is a finding
}

// An answerer appends the answer to a text, in whole lines. The error says why there is no answer, or why it is bad.
type answerer func(b []byte, text string) ([]byte, error)

// sayWhatIsRead prints a note if a person has to type the input.
func (t *tool) sayWhatIsRead(operands []string) {
	if len(operands) == 0 && isTerminal(t.stdin) {
		t.note("reads IDs, one a line, to the end of the input (Ctrl-D)")
	}
}

// awaitInput waits for the first ID where there are no operands. An error comes with the next read.
func (t *tool) awaitInput(operands []string) {
	t.sayWhatIsRead(operands)
	input := bufio.NewReader(t.stdin)
	t.stdin = input // which is no terminal: answerAll does not say it again
	if len(operands) == 0 {
		input.Peek(1)
	}
}

// answerAll answers all operands, or else all lines of standard input.
func (t *tool) answerAll(operands []string, answer answerer) (err error) {
	t.sayWhatIsRead(operands)
	f := &filter{tool: t, answer: answer, out: bufio.NewWriterSize(t.stdout, 64<<10)}
	for _, text := range operands {
		err = cmp.Or(err, f.answerOne(trimmed(text), 0))
	}
	if len(operands) == 0 {
		err = f.lines(t.stdin)
	}
	err = cmp.Or(err, outputError(f.out.Flush()))
	switch {
	case err != nil:
		return err
	case f.failed:
		return errReported
	case f.isNo:
		return errNo
	}
	return nil
}

// longestLine bounds a line, in bytes: no ID comes near it.
const longestLine = 4096

// lines answers each line of input. It prints what it has before it waits for more.
func (f *filter) lines(input io.Reader) error {
	r := bufio.NewReaderSize(input, longestLine)
	for number := 1; ; number++ {
		text, readErr := readLine(r)
		if number == 1 {
			text = trimmed(strings.TrimPrefix(text, "\ufeff")) // files from Windows begin with this
		}
		var err error
		switch {
		case readErr == bufio.ErrBufferFull:
			err = f.refuse(number, fmt.Errorf("longer than %d bytes: want an ID", longestLine))
		case readErr != nil && readErr != io.EOF:
			err = fmt.Errorf("standard input: %w", readErr)
		case text != "":
			err = f.answerOne(text, number)
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
		return trimmed(string(line)), err
	}
	for err == bufio.ErrBufferFull {
		_, err = r.ReadSlice('\n')
	}
	return "", bufio.ErrBufferFull
}

// answerOne answers a text, which is a line, or an operand if line is 0. It returns only errors of the output.
func (f *filter) answerOne(text string, line int) error {
	var wrong error
	f.buf, wrong = f.answer(f.buf[:0], text)
	if _, err := f.out.Write(f.buf); err != nil {
		return outputError(err)
	}
	if wrong != nil {
		return f.refuse(line, wrong)
	}
	return nil
}

// refuse prints what is wrong with a text. It flushes earlier answers first, so that a terminal shows all in order.
func (f *filter) refuse(line int, wrong error) error {
	if errors.Is(wrong, errNo) {
		f.isNo = true
	} else {
		f.failed = true
	}
	if line > 0 {
		wrong = fmt.Errorf("line %d: %w", line, wrong)
	}
	if err := f.out.Flush(); err != nil {
		return outputError(err)
	}
	f.note(wrong.Error())
	return nil
}
