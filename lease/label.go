package lease

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// DefaultLabel returns the environment variable RANDFLAKE_LABEL, or host name and process ID, as in "web-7:4711". In
// Kubernetes the host name is that of the pod.
func DefaultLabel() string {
	host, _ := os.Hostname()
	return cleanLabel(cmp.Or(os.Getenv("RANDFLAKE_LABEL"), fmt.Sprintf("%s:%d", host, os.Getpid())))
}

// cleanLabel returns what a record can hold of a label. An odd label must not keep a process from its lease.
func cleanLabel(text string) string {
	const longest = 80
	label := strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' {
			return '_'
		}
		return c
	}, text)
	return label[:min(len(label), longest)]
}
