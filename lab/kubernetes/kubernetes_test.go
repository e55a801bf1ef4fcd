package kubetest

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/kubernetes"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/url"
)

var must = require.NoError

func serve(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.TempDir())
	if s != nil {
		t.Cleanup(func() { s.Stop() })
	}
	must(t, err)
	manifest, err := os.ReadFile("../../docs/kubernetes/configmap.yaml")
	must(t, err)
	must(t, s.create(t, "namespaces", "v1", map[string]any{"metadata": map[string]any{"name": "shop"}}))
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		var object map[string]any
		must(t, yaml.Unmarshal([]byte(document), &object))
		kind := strings.ToLower(object["kind"].(string)) + "s"
		must(t, s.create(t, "namespaces/shop/"+kind, object["apiVersion"].(string), object))
	}
	return s
}

// create creates an object as the administrator.
func (s *Server) create(t *testing.T, path, version string, object any) error {
	root := "apis/"
	if version == "v1" {
		root = "api/"
	}
	body, err := json.Marshal(object)
	must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+s.Addr()+"/"+root+version+"/"+path, bytes.NewReader(body))
	must(t, err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + Admin}}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if said, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s", path, said)
	}
	return nil
}

func (s *Server) connect(t *testing.T, addr, user, name string) lease.Engine {
	t.Helper()
	store, err := s.URL(addr, user, "shop", name)
	must(t, err)
	e, err := kubernetes.Connect(t.Context(), store)
	must(t, err)
	return e
}

// TestEngine runs the suites of engines, also while the server crashes, stalls and loses replies.
func TestEngine(t *testing.T) {
	s := serve(t)
	var names atomic.Int64
	leasetest.Run(t, func(*testing.T) func(*testing.T) lease.Engine {
		name := fmt.Sprint("ids-", names.Add(1))
		return func(t *testing.T) lease.Engine { return s.connect(t, s.Addr(), Admin, name) }
	})
	enginetest.RunServer(t, s, true, func(t *testing.T, addr string) lease.Engine {
		e := s.connect(t, addr, Admin, "ids")
		must(t, e.Prepare(t.Context()))
		return e
	})
}

// TestRights: the manifest of the page lets a pod take leases, and do nothing else.
func TestRights(t *testing.T) {
	s, secret := serve(t), randflake.NewSecret()
	own := s.connect(t, s.Addr(), Orders, "randflake")
	err := own.Prepare(t.Context())
	require.That(t, err != nil && !errors.Is(err, lease.ErrNoSpace), "Prepare by a pod: %v", err)
	space, err := lease.Create(t.Context(), s.connect(t, s.Addr(), Admin, "randflake"), lease.Config{NeverUsed: true, CheckValue: secret.CheckValue()})
	must(t, err)
	must(t, space.Close())
	require.Says(t, "403", "Read of another ConfigMap")(s.connect(t, s.Addr(), Orders, "other").Read(t.Context(), "a"))
	store, err := s.URL(s.Addr(), Orders, "shop", "randflake")
	must(t, err)
	t.Setenv("RANDFLAKE_STORE", store)
	t.Setenv("RANDFLAKE_SECRET", secret.Hex())
	keeper, err := url.Keep(t.Context(), "orders")
	must(t, err)
	defer keeper.Close()
	require.Done(t)(keeper.Generator().Generate())
}

func TestThousand(t *testing.T) {
	s := serve(t)
	enginetest.RunThousand(t, func() lease.Engine { return s.connect(t, s.Addr(), Admin, "ids") })
}
