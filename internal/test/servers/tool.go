package servers

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Tool returns the file of a program that the go.mod of a folder names as a tool. The go command builds it once.
func Tool(folder, name string) (file string, err error) {
	cmd := exec.Command("go", "tool", "-n", name)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, &said)
	}
	return strings.TrimSpace(string(out)), nil
}

// Ready returns what reports whether a server says at a URL that all is well, under whatever certificate.
func Ready(url string) func() bool {
	client := http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
	return func() bool {
		answer, err := client.Get(url)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
}
