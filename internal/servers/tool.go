package servers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Tool returns the file of a program that the go.mod of a folder names as a tool. The first time, the go command builds it.
func Tool(folder, name string) (file string, err error) {
	cmd := exec.Command("go", "tool", "-n", name)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, &said)
	}
	return strings.TrimSpace(string(out)), nil
}
