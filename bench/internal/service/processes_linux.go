package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/storetest/servers"
)

// build makes the programs, into dir.
func build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "github.com/randflake/randflake/service/cmd/randflaked",
		"github.com/randflake/randflake/bench/internal/service/yardstick")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	return nil
}

// A program runs as a process of its own.
type program struct {
	*servers.Server
	cmd *exec.Cmd
}

// launch starts a program, with what arguments returns once it is known at which address it is to listen, and waits until it
// answers at a path.
func launch(binary, dir, path string, arguments func(address string) ([]string, error)) (p program, err error) {
	if p.Server, err = servers.New(filepath.Base(binary), dir, nil); err != nil {
		return p, err
	}
	args, err := arguments(p.Addr())
	if err != nil {
		return p, err
	}
	p.cmd = exec.Command(binary, args...)
	return p, p.Launch(p.cmd, func() bool {
		response, err := http.Get("http://" + p.Addr() + path)
		if err == nil {
			response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
}

// A space is one of randflaked's.
type space struct {
	name, place string
	mint        bool
}

// serve starts randflaked with spaces, of which the directories of those that mint are made.
func serve(binary, dir string, spaces []space) (program, error) {
	return launch(binary, dir, "/readyz", func(address string) ([]string, error) {
		config := filepath.Join(dir, "config.yaml")
		text, err := configure(dir, address, spaces)
		if err != nil {
			return nil, err
		}
		return []string{"--config", config}, os.WriteFile(config, text, 0o600)
	})
}

// configure returns what randflaked reads.
func configure(dir, address string, spaces []space) ([]byte, error) {
	secret, file := randflake.NewSecret(), filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte(secret.Hex()), 0o600); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "listen: %q\naudit: %q\ncounters: [{name: %s, space: %s}]\n", address, filepath.Join(dir, "audit"), mintSpace, spaces[0].name)
	fmt.Fprintf(&b, "principals: [{name: bench, tokens: [%x]}]\n", sha256.Sum256([]byte(token)))
	fmt.Fprintf(&b, "rules: [{principals: [bench], spaces: ['*'], verbs: [mint, lease, count], limits: {batch: 65536, rate: 1000000}}]\nspaces:\n")
	for _, s := range spaces {
		fmt.Fprintf(&b, "- {name: %s, kind: randflake, store: %q", s.name, s.place)
		if s.mint {
			made, err := filestore.Create(s.place, store.ForNewSecret())
			if err != nil {
				return nil, err
			}
			made.Close()
			// As many nodes as the format's limit of IDs a second asks for.
			fmt.Fprintf(&b, ", secret: mint, secretFile: %q, nodes: 1024", file)
		}
		b.WriteString("}\n")
	}
	return b.Bytes(), nil
}

// resident returns how many bytes of memory the process has.
func (p program) resident() (int64, error) {
	name := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	status, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s has no VmRSS", name)
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10, err
}
