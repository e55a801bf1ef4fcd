// Package documenttest makes stand-ins for servers fail.
package documenttest

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// A Server is what stand-ins have in common. They hold its lock while they serve.
type Server struct {
	sync.Mutex
	Puts  int // of the document
	fault *fault
	date  []string // of answers, unless nil
	cut   bool     // answers end early
}

// Stamp sets the header of an answer.
func (s *Server) Stamp(w http.ResponseWriter) {
	if s.cut {
		w.Header().Set("Content-Length", "100000")
	}
	if s.date != nil {
		w.Header()["Date"] = s.date
	}
}

// Time tests that every answer has the server's time, which is off by a second at most, and none if
// the server doesn't tell it.
func Time(t *testing.T, s *Server, e lease.Engine) {
	require.NoError(t, e.Prepare(t.Context()))
	for _, tt := range []struct {
		date []string
		want time.Time
	}{
		{[]string{"Sun, 22 Nov 2026 12:00:00 GMT"}, time.Date(2026, 11, 22, 12, 0, 1, 0, time.UTC)},
		{[]string{}, time.Time{}},
	} {
		s.Lock()
		s.date = tt.date
		s.Unlock()
		put := leasetest.Put(t, e, "a", "1")
		_, got := leasetest.Get(t, e, "a")
		unchanged, err := e.Swap(t.Context(), leasetest.Entry("a", "2"), leasetest.Entry("a", "3"))
		require.Must(t, err == nil && !unchanged.Swapped, "%+v, %v", unchanged, err)
		for _, a := range []lease.Answer{put, got, unchanged} {
			require.That(t, a.Time.Equal(tt.want), "date %s: time %v, want %v", tt.date, a.Time, tt.want)
		}
	}
}

// Cut tests that an answer which ends early is not taken for a document that is damaged.
func Cut(t *testing.T, s *Server, e lease.Engine) {
	require.NoError(t, e.Prepare(t.Context()))
	s.Lock()
	s.cut = true
	s.Unlock()
	_, err := e.Read(t.Context(), "a")
	require.That(t, err != nil && !errors.Is(err, lease.ErrCorrupt), "Read: %v, want an error of the connection", err)
}

type fault struct {
	status  int  // 0 cuts the connection
	effect  bool // the request is carried out all the same
	repeats bool // by the engine, as the server says that it was not carried out
	refused bool // by the server, so that nothing was changed
}

// Put carries out a request to put the document, or fails as it is told to.
func (s *Server) Put(w http.ResponseWriter, put func()) (ok bool) {
	s.Puts++
	f := s.fault
	s.fault = nil
	if f == nil {
		put()
		return true
	}
	if f.effect {
		put()
	}
	if f.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(f.status)
	fmt.Fprint(w, `{"metadata": {"resourceVersion": "1"}}`)
	return false
}

// Faults tests that a request to put the document is sent once, unless the server says by one of
// some statuses that it changed nothing.
func Faults(t *testing.T, start func(t *testing.T) (*Server, lease.Engine), unchanged ...int) {
	faults := []fault{
		{status: 0},
		{status: 0, effect: true},
		{status: 500},
		{status: 500, effect: true},
		{status: 503},
		{status: 504, effect: true},
		{status: 200},
		{status: 400, refused: true},
		{status: 403, refused: true},
		{status: 408},
		{status: 501, refused: true},
	}
	for _, status := range unchanged {
		faults = append(faults, fault{status: status, repeats: true})
	}
	for _, f := range faults {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			s, e := start(t)
			checkFault(t, s, e, f)
		})
	}
}

func checkFault(t *testing.T, s *Server, e lease.Engine, f fault) {
	require.NoError(t, e.Prepare(t.Context()))
	leasetest.Put(t, e, "a", "1")
	s.Lock()
	s.Puts = 0
	s.fault = &f
	s.Unlock()
	a, err := e.Swap(t.Context(), leasetest.Entry("a", "1"), leasetest.Entry("a", "2"))
	s.Lock()
	sent := s.Puts
	s.Unlock()
	require.That(t, (err == nil) == f.repeats && a.Swapped == f.repeats && (sent == 2) == f.repeats,
		"%+v, %v, sent %d times", a, err, sent)
	require.Equal(t, errors.Is(err, lease.ErrStore), f.refused, "%v: it says that nothing was changed", err)
	value, _ := leasetest.Get(t, e, "a")
	require.Equal(t, value == "2", f.effect || f.repeats, "found %s: it was changed", value)
}
