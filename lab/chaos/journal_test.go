package chaos

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/randflake/randflake"
)

// An event is what a worker notes in its journal: a lease that it may use, numbers, or IDs.
type event struct {
	Granted *randflake.Lease
	Adopted bool // a process that is a copy found the lease in its memory

	Counter string
	Runs    [][2]int64 // first and last number of each

	IDs []randflake.ID
}

// newJournal makes a file to which one process appends what it does, in order, before anything else is done with it.
// Each event is a call of the system, whose page cache outlives a SIGKILL. The encoder is safe for concurrent use.
func newJournal(path string) (*gob.Encoder, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return gob.NewEncoder(file), nil
}

// readJournal calls do with the events of a journal, in order. One that is not complete was never used.
func readJournal(path string, do func(event)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the process was killed before it came that far
	}
	if err != nil {
		return err
	}
	defer file.Close()
	events := gob.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	for {
		var e event
		err := events.Decode(&e)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("journal %s: %w", path, err)
		}
		do(e)
	}
}
