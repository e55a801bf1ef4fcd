package cli

import (
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program and exits with its exit status. The console sends an interrupt to both programs; this one
// ignores it, so that the other program decides when to end.
func become(path string, args []string) error {
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(path, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}
