package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/service/internal/config"
)

// TestWhoOfLayouts: the audit log tells whose lease made an ID of a Snowflake layout, and who asked for it where it is told to.
func TestWhoOfLayouts(t *testing.T) {
	dir := t.TempDir()
	state, lines := filepath.Join(dir, "state"), filepath.Join(dir, "audit")
	if _, err := local.Create(state); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("listen: localhost:0\naudit: %s\nauditMint: true\nspaces: [{name: sorted, kind: twitter, store: \"file:%s\"}]\n", lines, state)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	p := start(t, func() (*config.Config, error) { return config.Parse("test", []byte(text)) }, client)
	a, err := client.Post(p.url()+"/v1/spaces/sorted/ids?count=3", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var minted struct{ IDs []string }
	if err := json.NewDecoder(a.Body).Decode(&minted); err != nil || len(minted.IDs) != 3 {
		t.Fatalf("IDs %v, error %v", minted.IDs, err)
	}
	var out bytes.Buffer
	err = run([]string{"who", "--space", "sorted", "--layout", "twitter", "--audit", lines, minted.IDs[1]}, &out, &out)
	if err != nil || !strings.HasPrefix(out.String(), "randflaked  made at ") {
		t.Errorf("who: %s, error %v", &out, err)
	}
	log, err := os.ReadFile(lines)
	if want := fmt.Sprintf(`"msg":"mint","principal":"anyone","space":"sorted","count":3,"first":"%s","last":"%s"`, minted.IDs[0], minted.IDs[2]); err != nil || !strings.Contains(string(log), want) {
		t.Errorf("audit log %s, error %v, want %s", log, err, want)
	}
	for _, args := range [][]string{{"--layout", "randflake"}, {"--layout", "none"}, {"--layout", "twitter", "--secret-file", "x"}} {
		if err := run(append([]string{"who", "--space", "sorted", "--audit", lines}, append(args, minted.IDs[0])...), &out, &out); err == nil {
			t.Errorf("who %q: no error", args)
		}
	}
}
