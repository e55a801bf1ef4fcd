package s3

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/document/documenttest"
	"github.com/randflake/randflake/lease/leasetest"
)

// A server is a bucket. What needs a real one is tested where there is one.
type server struct {
	documenttest.Server
	url     string
	objects map[string][]byte
	age     time.Duration // of all objects
	ignores string        // a header
	refuses string        // a header,
	once    bool          // and then no more
	status  int           // with which it refuses
	asked   http.Header   // of the last request
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	s.asked = r.Header
	object, found := s.objects[r.URL.Path]
	s.Stamp(w)
	etag := fmt.Sprintf(`"%x"`, md5.Sum(object))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // nothing is put of a body that is cut off
	}
	put := func() {
		s.objects[r.URL.Path] = body
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(body)))
	}
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case r.Method == "PUT" && match == "" && none == "":
		refuse(w, http.StatusBadRequest, "Unconditional")
	case r.Header.Get(s.refuses) != "":
		refuse(w, s.status, "Refused")
		if s.once {
			s.refuses = ""
		}
	case r.Method == "GET" && found:
		w.Header().Set("ETag", etag)
		w.Header().Set("Last-Modified", time.Now().Add(-s.age).UTC().Format(http.TimeFormat))
		w.Write(object)
	case r.Method == "GET" || match != "" && !found && s.ignores != "If-Match":
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && bytes.Equal(object, body) && strings.HasSuffix(r.URL.Path, "/entries"):
		w.Header().Set("ETag", etag) // as RFC 9110, 13.1.1, allows
	case none != "" && found && s.ignores != "If-None-Match", match != "" && match != etag && s.ignores != "If-Match":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case strings.HasSuffix(r.URL.Path, "/entries"):
		s.Put(w, put)
	default:
		put()
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// start starts a server, and returns it with a function that connects to it.
func start(t *testing.T) (*server, func(t *testing.T) lease.Engine) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	s := &server{objects: map[string][]byte{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s, func(t *testing.T) lease.Engine {
		return enginetest.Open(t, Connect, "s3://bucket/ids?endpoint="+s.url)
	}
}

func TestSuite(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(t *testing.T) lease.Engine {
		_, connect := start(t)
		return connect
	})
}

func TestFaults(t *testing.T) {
	documenttest.Faults(t, func(t *testing.T) (*documenttest.Server, lease.Engine) {
		s, connect := start(t)
		return &s.Server, connect(t)
	}, http.StatusConflict, http.StatusPreconditionFailed)
}

func TestCut(t *testing.T) {
	s, connect := start(t)
	documenttest.Cut(t, &s.Server, connect(t))
}

func TestTime(t *testing.T) {
	s, connect := start(t)
	documenttest.Time(t, &s.Server, connect(t))
}

// TestConditionsIgnored: a server that ignores a condition, or doesn't know it, is refused,
// whatever it is asked for, and nothing is put.
func TestConditionsIgnored(t *testing.T) {
	for _, tt := range []struct{ ignores, refuses, want string }{
		{"If-Match", "", "take one that heeds them"},
		{"If-None-Match", "", "take one that heeds them"},
		{"", "If-Match", "501"},
		{"", "If-None-Match", "501"},
	} {
		s, connect := start(t)
		s.ignores, s.refuses, s.status = tt.ignores, tt.refuses, http.StatusNotImplemented
		for range 2 {
			e := connect(t)
			_, readErr := e.Read(t.Context(), "a")
			_, swapErr := e.Swap(t.Context(), nil, leasetest.Entry("a", "1"))
			for _, err := range []error{readErr, swapErr, e.Prepare(t.Context())} {
				require.ErrorIs(t, err, lease.ErrUnsafe, "%+v", tt)
				require.Contains(t, err.Error(), tt.want, "%+v", tt)
				require.That(t, !strings.Contains(err.Error(), "nil") && s.Puts <= 0, "%+v: %v, %d puts", tt, err, s.Puts)
			}
		}
	}
}

// TestTrialFails: where the trial fails for another reason, nothing else is asked, and the next call tries again.
func TestTrialFails(t *testing.T) {
	for _, refuses := range []string{"If-None-Match", "If-Match"} {
		s, connect := start(t)
		s.refuses, s.once, s.status = refuses, true, http.StatusForbidden
		e := connect(t)
		err := e.Prepare(t.Context())
		require.That(t, err != nil && !errors.Is(err, lease.ErrUnsafe) && strings.Contains(err.Error(), "403"),
			"%s: %v, want one that says 403", refuses, err)
		require.That(t, s.Puts <= 0, "%s: %d puts", refuses, s.Puts)
		require.NoError(t, e.Prepare(t.Context()))
	}
}

// TestGone: a Swap onto an object that was removed finds that there is none.
func TestGone(t *testing.T) {
	s, connect := start(t)
	e := connect(t)
	require.NoError(t, e.Prepare(t.Context()))
	leasetest.Put(t, e, "a", "1")
	delete(s.objects, "/bucket/ids/entries")
	a, err := e.Swap(t.Context(), leasetest.Entry("a", "1"), leasetest.Entry("a", "2"))
	require.ErrorIs(t, err, lease.ErrNoSpace, "%+v", a)
	require.Equal(t, len(s.objects), 1, "objects, with that of the trial")
}

// A client loses the connection when it puts the entries.
type client struct {
	op   string // what failed
	puts int
}

func (c *client) Do(r *http.Request) (*http.Response, error) {
	if r.Method == "PUT" && strings.HasSuffix(r.URL.Path, "/entries") {
		c.puts++
		if c.op != "" {
			defer func() { c.op = "" }()
			return nil, &net.OpError{Op: c.op, Err: io.ErrClosedPipe}
		}
	}
	return http.DefaultClient.Do(r)
}

// TestLostConnection: what wasn't sent whole is sent again. Where the answer was lost, it is not.
func TestLostConnection(t *testing.T) {
	s, connect := start(t)
	require.NoError(t, connect(t).Prepare(t.Context()))
	c := new(client)
	options := s3.Options{
		BaseEndpoint: &s.url,
		Region:       "r",
		UsePathStyle: true,
		Credentials:  aws.AnonymousCredentials{},
		HTTPClient:   c,
	}
	e, err := New(s3.New(options), Config{Bucket: "bucket", Prefix: "/ids/"})
	require.NoError(t, err)
	for op, puts := range map[string]int{"write": 2, "readfrom": 2, "read": 1, "": 1} {
		c.op, c.puts = op, 0
		a, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "1"))
		require.That(t, c.puts == puts && (err == nil) == (op != "read") && a.Swapped == (err == nil),
			"%q failed: %+v, %v, sent %d times, want %d", op, a, err, c.puts, puts)
		require.That(t, err == nil || errors.Is(err, io.ErrClosedPipe), "%q failed: %v, want what failed", op, err)
	}
	e, err = New(s3.New(options), Config{Bucket: "bucket"})
	require.NoError(t, err)
	require.Equal(t, e.String(), "s3://bucket/randflake "+s.url, "its text")
	_, err = New(s3.New(options), Config{})
	require.That(t, err != nil && strings.Contains(err.Error(), "want the name of a bucket"), "without a bucket: %v", err)
}

// TestRequests: the URL's region counts, and then any, as servers without regions assume one.
// Checksums of AWS alone aren't sent.
func TestRequests(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	s, _ := start(t)
	server := strings.Replace(s.url, "127.0.0.1", "localhost", 1) // of which bucket.localhost is no part
	for region, want := range map[string]string{"": "us-east-1", "&region=eu-central-1": "eu-central-1"} {
		e, err := Connect(t.Context(), "s3://bucket/ids?endpoint="+server+region)
		require.NoError(t, err)
		require.NoError(t, e.Prepare(t.Context()))
		leasetest.Put(t, e, "a", "1")
		require.That(t, strings.Contains(s.asked.Get("Authorization"), want), "region %q: %v", region, s.asked)
		put := s.asked
		leasetest.Get(t, e, "a")
		text := fmt.Sprint(put, s.asked)
		require.That(t, !strings.Contains(strings.ToLower(text), "checksum"), "checksums: %s", text)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", s.url)
	e, err := Connect(t.Context(), "s3://bucket/ids?region=r")
	require.NoError(t, err)
	leasetest.Get(t, e, "a")
}

// TestCopies: an object that is younger than its content has another lineage. An older version that
// comes back with its date shows by the position. What is no document of ours is not overwritten.
func TestCopies(t *testing.T) {
	s, connect := start(t)
	e, lineages := connect(t), enginetest.Lineages{}
	require.NoError(t, e.Prepare(t.Context()))
	before := leasetest.Put(t, e, "a", "1")
	lineages.WantNew(t, "at first", e)
	const key = "/bucket/ids/entries"
	backup := s.objects[key]
	leasetest.Put(t, e, "a", "2")
	s.objects[key] = backup
	_, after := leasetest.Get(t, e, "a")
	require.That(t, after.Lineage == before.Lineage && after.Position == before.Position, "%+v, then %+v", before, after)
	s.age = -time.Hour
	lineages.WantNew(t, "copied", e)
	s.objects[key] = []byte("{}")
	_, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "1"))
	require.That(t, errors.Is(err, lease.ErrCorrupt) && string(s.objects[key]) == "{}", "on other content: %v", err)
}

func TestURL(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Password: "hunter2",
		Right: []string{
			"s3://bucket/ids?region=eu-central-1",
			"s3://bucket?endpoint=http://127.0.0.1:9000",
			"s3://bucket?endpoint=https://127.0.0.1:9000",
		},
		Wrong: map[string]string{
			"s3://bucket?endpoint=ftp://127.0.0.1":           "http://HOST:PORT",
			"s3://bucket?endpoint=http:///x":                 "http://HOST:PORT",
			"s3://bucket?endpoint=http://[":                  "http://HOST:PORT",
			"s3://bucket?endpoint=https://k%40host":          "http://HOST:PORT",
			"s3://bucket/ids?endpoint=127.0.0.1:9000":        "http://HOST:PORT",
			"s3://bucket/ids?endpoint=http://k:hunter2@host": "@ after the host",
			"s3://bucket/ids?region=x#y":                     "s3://BUCKET",
			"s3:///ids?region=x":                             "s3://BUCKET",
			"https://bucket/ids":                             "s3://BUCKET",
			"s3://key:hunter2@bucket/ids":                    "the environment",
			"s3://bucket/ids?reigon=x":                       `"reigon"`,
		},
		Failing: map[string]string{"s3://bucket": "AWS_REGION"},
	})
	t.Setenv("AWS_PROFILE", "missing")
	require.Says(t, "missing", "a profile that isn't there")(Connect(t.Context(), "s3://bucket?region=x"))
}
