package s3test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/s3"
	"github.com/randflake/randflake/lease/url"
)

func TestMain(m *testing.M) {
	Credentials()
	os.Exit(m.Run())
}

var must = require.NoError

func connect(t *testing.T, url string) lease.Engine {
	t.Helper()
	e, err := s3.Connect(t.Context(), url)
	must(t, err)
	return e
}

// TestEngine runs the suite of engines on two servers.
func TestEngine(t *testing.T) {
	backend := s3mem.New()
	fake := httptest.NewServer(gofakes3.New(backend).Server())
	defer fake.Close()
	must(t, backend.CreateBucket(Bucket))
	var prefixes atomic.Int64
	for name, endpoint := range map[string]string{"versitygw": "http://" + serve(t).Addr(), "gofakes3": fake.URL} {
		t.Run(name, func(t *testing.T) {
			leasetest.Run(t, func(*testing.T) func(*testing.T) lease.Engine {
				name := URL(endpoint, fmt.Sprint(prefixes.Add(1)))
				return func(t *testing.T) lease.Engine { return connect(t, name) }
			})
		})
	}
}

// TestEngineWithFaults is the suite with a server that crashes, stalls and loses replies.
func TestEngineWithFaults(t *testing.T) {
	enginetest.RunServer(t, serve(t), true, func(t *testing.T, addr string) lease.Engine {
		e := connect(t, URL("http://"+addr, "ids"))
		must(t, e.Prepare(t.Context()))
		return e
	})
}

// TestConditionsIgnored: without metadata the server has no ETags to compare, and is refused.
func TestConditionsIgnored(t *testing.T) {
	require.ErrorIs(t, connect(t, serve(t, "--nometa").URL("ids")).Prepare(t.Context()), lease.ErrUnsafe, "without metadata")
}

func TestThousand(t *testing.T) {
	name := serve(t).URL("ids")
	enginetest.RunThousand(t, func() lease.Engine { return connect(t, name) })
}

// TestKeep: the program of the README makes IDs by leases in a bucket when url.Keep is in the place of local.Keep.
func TestKeep(t *testing.T) {
	store, secret := serve(t).URL("ids"), randflake.NewSecret()
	space, err := url.Create(t.Context(), store, lease.Config{NeverUsed: true, CheckValue: secret.CheckValue()})
	must(t, err)
	must(t, space.Close())
	t.Setenv("RANDFLAKE_STORE", store)
	t.Setenv("RANDFLAKE_SECRET", secret.Hex())
	keeper, err := url.Keep(t.Context(), "shop")
	must(t, err)
	defer keeper.Close()
	require.Done(t)(keeper.Generator().Generate())
}
