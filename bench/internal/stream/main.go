// Stream writes the stream of IDs that the tests of randomness look at, without end, 8 bytes to an ID:
//
//	go run ./internal/stream -seed 1 | dieharder -a -g 200
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/randflake/randflake/bench/internal/source"
)

func main() {
	seed := flag.Uint64("seed", 1, "the secret is made from it")
	raw := flag.Bool("raw", false, "write the values as they are before encryption")
	flag.Parse()
	s := source.IDs(*seed)
	if *raw {
		s = source.Raw()
	}
	// Reading and writing a pipe's worth at a time costs the fewest system calls.
	_, err := io.Copy(os.Stdout, bufio.NewReaderSize(s, 1<<16))
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}
