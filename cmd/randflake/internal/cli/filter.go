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

	// prepare gets a batch of texts before their answers are wanted. It returns false if those need
	// later texts. It may be nil.
	prepare func(texts []string) bool

	// answer appends the answer to text i, in whole lines. The error says why there is no answer,
	// or why it is bad.
	answer func(b []byte, i int, text string) ([]byte, error)

	out    *bufio.Writer
	buf    []byte
	texts  []string // not answered yet
	places []int    // the numbers of their lines, or 0
	bad    bool     // there was an error
}

// sayWhatIsRead prints a note if a person has to type the input.
func (t *tool) sayWhatIsRead(operands []string) {
	if len(operands) == 0 && isTerminal(t.stdin) {
		t.note(errors.New("reads IDs, one a line, to the end of the input (Ctrl-D)"))
	}
}

// answerAll runs a filter.
func (t *tool) answerAll(operands []string, prepare func([]string) bool, answer func([]byte, int, string) ([]byte, error)) (err error) {
	t.sayWhatIsRead(operands)
	f := &filter{tool: t, prepare: prepare, answer: answer, out: bufio.NewWriterSize(t.stdout, 64<<10)}
	for _, text := range operands {
		f.add(trimmed(text), 0)
	}
	if len(operands) > 0 {
		err = f.batch(true)
	} else {
		err = f.lines(t.stdin)
	}
	if err == nil && f.bad {
		return errReported
	}
	return err
}

func (f *filter) add(text string, place int) {
	f.texts = append(f.texts, text)
	f.places = append(f.places, place)
}

const longestLine, longestBatch = 4096, 1024 // in bytes, far more than any ID has, and in lines

// lines answers each line of input. It prints what it has before it waits for more.
func (f *filter) lines(input io.Reader) error {
	r := bufio.NewReaderSize(input, longestLine)
	for number := 1; ; number++ {
		text, readErr := readLine(r)
		if number == 1 {
			text = trimmed(strings.TrimPrefix(text, "\ufeff")) // with which files from Windows begin
		}
		if text != "" && (readErr == nil || readErr == io.EOF) {
			f.add(text, number)
		}
		var err error
		if last := readErr != nil || len(f.texts) == longestBatch; last || r.Buffered() == 0 {
			err = f.batch(last)
		}
		switch {
		case err != nil || readErr == io.EOF:
			return err
		case readErr == bufio.ErrBufferFull:
			err = f.refuse(number, fmt.Errorf("longer than %d bytes: want an ID", longestLine))
		case readErr != nil:
			err = fmt.Errorf("standard input: %w", readErr)
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line. If the line is too long, readLine skips it and returns
// bufio.ErrBufferFull.
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

// batch answers the texts that there are, unless later ones are needed and can come. It returns
// only errors of the output.
func (f *filter) batch(last bool) error {
	if f.prepare != nil && !f.prepare(f.texts) && !last {
		return nil
	}
	for i, text := range f.texts {
		var wrong error
		f.buf, wrong = f.answer(f.buf[:0], i, text)
		if _, err := f.out.Write(f.buf); err != nil {
			return outputError(err)
		}
		if err := f.refuse(f.places[i], wrong); err != nil {
			return err
		}
	}
	f.texts, f.places = f.texts[:0], f.places[:0]
	return outputError(f.out.Flush())
}

// refuse prints what is wrong with a text, or nil. It flushes earlier answers first, so that a
// terminal shows them in order.
func (f *filter) refuse(place int, wrong error) error {
	if wrong == nil {
		return nil
	}
	f.bad = true
	if place > 0 {
		wrong = fmt.Errorf("line %d: %w", place, wrong)
	}
	err := f.out.Flush()
	if err == nil {
		f.note(wrong)
	}
	return outputError(err)
}
