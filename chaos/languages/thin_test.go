package languages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

// thin are programs that have the service make IDs and count, and print what they got.
var thin = map[string][]string{
	"python": {"python3", "-c", `
import os, randflaked
service = randflaked.Service(os.environ["ADDRESS"], "demo")
print(*service.mint(1000), *service.next("demo", 1000), *service.next("demo"))`},
	"typescript": {"node", "--input-type=module", "-e", `
import { Service } from "../../clients/typescript/dist/index.js";
const service = new Service(process.env.ADDRESS, { space: "demo" });
console.log(...(await service.mint(1000)), ...(await service.next("demo", 1000)), ...(await service.next("demo")));`},
}

// TestThin: Python and TypeScript have a service make IDs and count, each of which nobody else gets.
func TestThin(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	service := &replica{T: t, args: []string{"--dev", "--dir", filepath.Join(t.TempDir(), "state"), "--listen", address}, url: "http://" + address}
	service.start()
	seen := map[string]bool{}
	for language, words := range thin {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "ADDRESS="+service.url, "PYTHONPATH=../../clients/python", "PYTHONDONTWRITEBYTECODE=1")
		cmd.Stderr = os.Stderr
		said, err := cmd.Output()
		got := strings.Fields(string(said))
		if err != nil || len(got) != 2001 {
			t.Fatalf("%s: %d IDs and numbers, error %v, want 2001", language, len(got), err)
		}
		for i, text := range got {
			if _, err := randflake.Parse(text); i < 1000 && err != nil {
				t.Errorf("%s: %v", language, err)
			}
			seen[text] = true
		}
	}
	if len(seen) != 4002 {
		t.Errorf("%d different IDs and numbers, want 4002", len(seen))
	}
}
