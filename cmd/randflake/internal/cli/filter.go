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
	prepare preparer // or nil
	answer  answerer
	out     *bufio.Writer
	buf     []byte
	texts   []string // the batch: texts that were not answered yet
	places  []int    // for each text the number of its line, or 0 for an operand
	bad     bool     // a text had an error
}

// A preparer gets a batch of texts before their answers are wanted. It returns false if it can't
// prepare the answers before it gets later texts, too.
type preparer func(texts []string) bool

// An answerer appends the answer to text i of the batch, in whole lines. The error says why there
// is no answer, or why it is bad.
type answerer func(b []byte, i int, text string) ([]byte, error)

// sayWhatIsRead prints a note if a person has to type the input.
func (t *tool) sayWhatIsRead(operands []string) {
	if len(operands) == 0 && isTerminal(t.stdin) {
		t.note(errors.New("reads IDs, one a line, to the end of the input (Ctrl-D)"))
	}
}

// answerAll answers all operands, or else all lines of standard input.
func (t *tool) answerAll(operands []string, prepare preparer, answer answerer) (err error) {
	t.sayWhatIsRead(operands)
	f := &filter{tool: t, prepare: prepare, answer: answer, out: bufio.NewWriterSize(t.stdout, 64<<10)}
	for _, text := range operands {
		f.add(trimmed(text), 0)
	}
	if len(operands) > 0 {
		err = f.answerBatch(true)
	} else {
		err = f.lines(t.stdin)
	}
	if err == nil && f.bad {
		return errReported
	}
	return err
}

// add adds a text to the batch.
func (f *filter) add(text string, place int) {
	f.texts = append(f.texts, text)
	f.places = append(f.places, place)
}

const (
	longestLine  = 4096 // bytes, far more than any ID has
	longestBatch = 1024 // lines
)

// lines answers each line of input. It prints what it has before it waits for more.
func (f *filter) lines(input io.Reader) error {
	r := bufio.NewReaderSize(input, longestLine)
	for number := 1; ; number++ {
		text, readErr := readLine(r)
		if number == 1 {
			text = trimmed(strings.TrimPrefix(text, "\ufeff")) // files from Windows begin with this
		}
		if text != "" && (readErr == nil || readErr == io.EOF) {
			f.add(text, number)
		}
		isComplete := readErr != nil || len(f.texts) == longestBatch // no later text joins the batch
		mayWait := r.Buffered() == 0                                 // for the next line
		var err error
		if isComplete || mayWait {
			err = f.answerBatch(isComplete)
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

// answerBatch answers the texts of the batch and empties it. If the answers need later texts, it
// does nothing, unless the batch is complete. It returns only errors of the output.
func (f *filter) answerBatch(isComplete bool) error {
	isPrepared := f.prepare == nil || f.prepare(f.texts)
	if !isPrepared && !isComplete {
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

// refuse prints what is wrong with the text of a line, or nothing if wrong is nil. It flushes
// earlier answers first, so that a terminal shows all in order.
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
