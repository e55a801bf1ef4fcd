package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/file"
)

// TestLeaseWho has two processes hold the same node one after the other. The store knows the second one only.
func TestLeaseWho(t *testing.T) {
	dir := newHome(t)
	var log bytes.Buffer
	made := map[string]string{}
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"first:1", "second:2"} {
		space, err := file.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer space.Close()
		k, err := lease.Keep(t.Context(), lease.On(space), secret, lease.WithNodes(1<<17), lease.WithLabel(label),
			lease.WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		id, err := k.Generator().Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		made[label] = id.String()
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	who := func(args ...string) result {
		return call(t, "no JSON\n"+log.String()+`{"msg":"grant","principal":"web","space":"orders","first_node":5,"last_node":6,"start":1767268800,"label":"pod"}
			{"msg":"grant","start":1767268800,"label":"\u001b[31m\n7","first_node":99,"last_node":99}`,
			append([]string{"lease", "who", "--store", dir}, args...)...)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"second:2 held node ", []string{made["second:2"]}},
		{"first:1 held node ", []string{made["first:1"], "--log", "-"}},
		{"second:2 held node ", []string{made["second:2"], "--log", "-"}},
		{"second:2 held node 9 ", []string{"--node", "9", "--at", time.Now().Add(time.Hour).Format(time.RFC3339), "--log", "-"}},
		{"_[31m_7 held node 99 ", []string{"--node", "99", "--at", "2026-01-01T13:00:00Z", "--log", "-"}},
		{"web (pod) held node 6 at 2026-01-01T13:00:00Z, as one of nodes 5 to 6, from 2026-01-01T12:00:00Z on\n",
			[]string{"--node", "6", "--at", "2026-01-01T13:00:00Z", "--log", "-", "--space", "orders"}},
	} {
		if r := who(c.args...); r.code != exitOK || !strings.HasPrefix(r.out, c.want) {
			t.Errorf("%q: %+v, want %q", c.args, r, c.want)
		}
	}
	if r := who(made["second:2"]); strings.Contains(r.out, "lost data") {
		t.Errorf("before a loss of data: %s", r.out)
	}
	succeed(t, "", "lease", "report-loss", "--store", dir)
	if r := who(made["second:2"]); !strings.HasPrefix(r.out, "second:2") || !strings.Contains(r.out, "may have forgotten a later lease") {
		t.Errorf("after a loss of data: %+v", r)
	}
	future := randflake.NewCipher(secret).Encrypt(randflake.Raw(math.MaxUint64))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"another secret", []string{future.String()}},
		{"name the logs of that time with --log", []string{made["first:1"]}},
		{"nobody", []string{"--node", "9", "--at", time.Now().Add(time.Hour).Format(time.RFC3339)}},
		{"has no line in JSON", []string{"--node", "9", "--at", "2026-01-01T12:00:00Z", "--log", "-"}},
		{"no such file", []string{"--node", "9", "--at", "2026-01-01T12:00:00Z", "--log", filepath.Join(dir, "none")}},
	} {
		wantFailure(t, who(c.args...), exitFailed, c.want)
	}
	for _, args := range [][]string{{}, {"--node", "9"}, {"--node", "131072"}, {"a", "--node", "9", "--at", "2026-01-01T12:00:00Z"}, {"a", "b"}} {
		if r := who(args...); r.code != exitUsage {
			t.Errorf("%q: %+v, want a usage error", args, r)
		}
	}
}

func TestLeaseRevoke(t *testing.T) {
	dir := newHome(t)
	held := acquire(t, dir, "--nodes", "4", "--label", "web 7")
	revoke := []string{"lease", "revoke", "--store", dir, "--node", fmt.Sprint(held.FirstNode + 3)}
	if out := succeed(t, "", revoke...); !strings.Contains(out, held.Owner.String()) || !strings.Contains(out, `"label":"web_7"`) {
		t.Errorf("revoked %s, want %+v", out, held)
	}
	if v := leaseOf(t, dir, held.FirstNode); v.State != "released" || !v.Until.Equal(held.Until) {
		t.Errorf("after it was revoked: %+v, want it free at the end of %+v", v, held)
	}
	wantFailure(t, call(t, "", revoke...), exitFailed, "no lease on the node")
}
