package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestHungReader: a program whose standard error nobody reads any more, and which has its audit log there, serves and ends.
func TestHungReader(t *testing.T) {
	program := exec.Command(os.Args[0], "--dev", "--dir", t.TempDir()+"/state", "--listen", "localhost:0")
	program.Env = append(os.Environ(), "RANDFLAKED_AS_PROGRAM=1")
	pipe, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Process.Kill()
	var listening struct{ URL string }
	for lines := bufio.NewReaderSize(pipe, 16); listening.URL == ""; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		json.Unmarshal(line, &listening)
	}
	client := &http.Client{Timeout: time.Minute}
	for i := range 1000 { // a line of the audit log each, of which a pipe holds about three hundred
		answer, err := client.Get(listening.URL + "/v1/spaces/demo/ids/1")
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		answer.Body.Close()
	}
	program.Process.Signal(syscall.SIGINT)
	if state, err := program.Process.Wait(); err != nil || !state.Success() {
		t.Errorf("it ended as %v, error %v", state, err)
	}
}
