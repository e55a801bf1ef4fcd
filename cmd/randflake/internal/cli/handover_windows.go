package cli

import (
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program in place of this one, and exits as that does. The console sends an interrupt to both: it is
// for the other one to end by it.
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
