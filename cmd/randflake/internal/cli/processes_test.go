package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/storetest"
)

const (
	fleet         = 64     // processes
	idsPerProcess = 10_000 // that each must have written in the end
	idsPerWrite   = 50     // divides idsPerProcess
)

// TestManyProcesses has many processes mint from one store at once. A third of them is killed midway
// and started again. Everything that any of them wrote must be distinct and within its leases.
func TestManyProcesses(t *testing.T) {
	home := newHome(t)
	logs := t.TempDir()
	var group sync.WaitGroup
	for i := range fleet {
		group.Go(func() {
			log := filepath.Join(logs, strconv.Itoa(i))
			if i%3 == 0 {
				if err := killMidway(t, home, log, i*idsPerProcess/fleet); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			}
			if out, err := process(t, "worker", home, log, "-1").CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
	}
	group.Wait()
	checkLogs(t, home, logs)
}

// killMidway starts a worker that writes up to hold IDs and no more, but goes on minting, and kills
// it when it has written half of them or, where that is none, has a lease.
func killMidway(t *testing.T, home, log string, hold int) error {
	cmd := process(t, "worker", home, log, strconv.Itoa(hold))
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for countIDs(log) < hold/2 || !hasLease(log) {
		select {
		case err := <-ended:
			return fmt.Errorf("ended before it was killed: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if err := <-ended; err == nil || cmd.ProcessState.Success() {
		return fmt.Errorf("ended by itself: %v", err)
	}
	if n := countIDs(log); n > hold {
		return fmt.Errorf("wrote %d IDs, was to hold at %d", n, hold)
	}
	return nil
}

func hasLease(log string) bool {
	content, _ := os.ReadFile(log)
	return bytes.HasPrefix(content, []byte("granted ")) && bytes.ContainsRune(content, '\n')
}

func countIDs(log string) int {
	content, _ := os.ReadFile(log)
	return bytes.Count(content, []byte("\nid "))
}

func checkLogs(t *testing.T, home, logs string) {
	t.Helper()
	secret, err := local.ReadSecret(filepath.Join(home, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(secret)
	for i := range fleet {
		f, err := os.Open(filepath.Join(logs, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		before := len(l.seen)
		if err := l.read(f); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		f.Close()
		if got := len(l.seen) - before; got < idsPerProcess {
			t.Errorf("process %d wrote %d IDs, want %d", i, got, idsPerProcess)
		}
	}
	if err := l.history.Check(); err != nil {
		t.Error(err)
	}
	if least := fleet + fleet/3; l.history.Len() < least {
		t.Errorf("%d leases, want at least %d: nobody was killed", l.history.Len(), least)
	}
}

// A ledger checks what workers wrote down.
type ledger struct {
	cipher  *randflake.Cipher
	history storetest.History
	seen    map[randflake.ID]bool
}

func newLedger(secret randflake.Secret) *ledger {
	return &ledger{cipher: randflake.NewCipher(secret), seen: make(map[randflake.ID]bool)}
}

// read reads the log of one worker and returns an error for the first fault in it: an ID that any
// worker wrote before, or that is outside all leases which this one was granted before it.
func (l *ledger) read(log io.Reader) error {
	granted := make(map[lease.Token]lease.Record)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		var err error
		switch kind {
		case "granted":
			err = l.granted(granted, rest)
		case "released":
			err = l.released(granted, rest)
		case "id":
			err = l.minted(granted, rest)
		default:
			err = fmt.Errorf("unknown line %q", lines.Text())
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

func (l *ledger) granted(granted map[lease.Token]lease.Record, line string) error {
	var rec lease.Record
	var owner string
	_, err := fmt.Sscan(line, &rec.FirstNode, &rec.LastNode, &owner, &rec.Version, &rec.Start, &rec.HighWater)
	if err == nil {
		err = rec.Owner.UnmarshalText([]byte(owner))
	}
	if err != nil {
		return fmt.Errorf("granted %q: %w", line, err)
	}
	granted[rec.Owner] = rec
	l.history.Granted(rec)
	return nil
}

func (l *ledger) released(granted map[lease.Token]lease.Record, line string) error {
	var text string
	var second int64
	var owner lease.Token
	_, err := fmt.Sscan(line, &text, &second)
	if err == nil {
		err = owner.UnmarshalText([]byte(text))
	}
	if err != nil {
		return fmt.Errorf("released %q: %w", line, err)
	}
	rec := granted[owner]
	l.history.Released(rec, time.Unix(second, 0))
	rec.HighWater = min(rec.HighWater, second)
	granted[owner] = rec
	return nil
}

func (l *ledger) minted(granted map[lease.Token]lease.Record, line string) error {
	id, err := randflake.Parse(line)
	if err != nil {
		return err
	}
	if l.seen[id] {
		return fmt.Errorf("%v is a duplicate", id)
	}
	l.seen[id] = true
	fields := l.cipher.Inspect(id)
	for _, rec := range granted {
		if rec.FirstNode <= fields.Node && fields.Node <= rec.LastNode && rec.Start <= fields.Time.Unix() && fields.Time.Unix() <= rec.HighWater {
			return nil
		}
	}
	return fmt.Errorf("%v, node %d, second %d, is outside all leases", id, fields.Node, fields.Time.Unix())
}

// TestLedgerFindsFaults plants faults.
func TestLedgerFindsFaults(t *testing.T) {
	secret := randflake.NewSecret()
	const start = randflake.Epoch + 1000
	id := func(second int64, node, sequence uint32) string {
		id, err := randflake.NewCipher(secret).Compose(randflake.Fields{Time: time.Unix(second, 0), Node: node, Sequence: sequence})
		if err != nil {
			t.Fatal(err)
		}
		return "id " + id.String()
	}
	const a, b = "000000000000000000000000000000aa", "000000000000000000000000000000bb"
	grant := func(first, last int, owner string, from, to int64) string {
		return fmt.Sprintf("granted %d %d %s 1 %d %d", first, last, owner, from, to)
	}
	release := func(owner string, second int64) string { return fmt.Sprintf("released %s %d", owner, second) }
	ours, others := grant(5, 6, a, start, start+9), grant(6, 7, b, start+9, start+20)

	for _, c := range []struct {
		name, want string
		logs       [][]string
	}{
		{"sound", "", [][]string{{ours, id(start, 5, 0), id(start+9, 6, 0)}, {grant(7, 7, b, start, start+9), id(start, 7, 0)}}},
		{"renewed", "", [][]string{{ours, grant(5, 6, a, start, start+15), id(start+15, 5, 0)}}},
		{"taken over after a release", "", [][]string{{ours, id(start+8, 6, 0), release(a, start+8)}, {others, id(start+9, 6, 0)}}},
		{"duplicate in one log", "duplicate", [][]string{{ours, id(start, 5, 1), id(start, 5, 1)}}},
		{"duplicate in two logs", "duplicate", [][]string{{ours, id(start, 5, 1)}, {ours, id(start, 5, 1)}}},
		{"second before the lease", "outside", [][]string{{ours, id(start-1, 5, 0)}}},
		{"second after the lease", "outside", [][]string{{ours, id(start+10, 5, 0)}}},
		{"second after the release", "outside", [][]string{{ours, release(a, start+3), id(start+4, 5, 0)}}},
		{"node below the lease", "outside", [][]string{{ours, id(start, 4, 0)}}},
		{"node above the lease", "outside", [][]string{{ours, id(start, 7, 0)}}},
		{"used before it was granted", "outside", [][]string{{id(start, 5, 0), ours}}},
		{"lease of somebody else", "outside", [][]string{{ours}, {id(start, 5, 0)}}},
		{"leases that overlap", "granted twice", [][]string{{ours}, {others}}},
		{"release that was too late", "granted twice", [][]string{{ours, release(a, start+9)}, {others}}},
	} {
		l := newLedger(secret)
		var errs []error
		for _, log := range c.logs {
			errs = append(errs, l.read(strings.NewReader(strings.Join(log, "\n")+"\n")))
		}
		err := errors.Join(append(errs, l.history.Check())...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// work is a worker of TestManyProcesses. It logs each lease before it uses it, and then each ID. It
// goes on with the log of one that was killed.
func work(args []string) error {
	home, path := args[0], args[1]
	hold, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	log, count, err := openLog(path)
	if err != nil {
		return err
	}
	secret, err := local.ReadSecret(filepath.Join(home, "secret"))
	if err != nil {
		return err
	}
	space, err := filestore.Open(home)
	if err != nil {
		return err
	}
	keeper, err := lease.Keep(context.Background(), &loggingStore{Source: lease.On(space), log: log}, secret,
		lease.WithTTL(leaseTTL), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	for count < idsPerProcess {
		text, err := mintLines(keeper.Generator(), idsPerWrite)
		if err != nil {
			return err
		}
		if hold >= 0 && count+idsPerWrite > hold {
			continue // to be killed
		}
		if _, err := log.Write(text); err != nil {
			return err
		}
		count += idsPerWrite
	}
	// On a machine that is busy enough, the others keep the store locked for too long. That is
	// harmless, as the lease runs out by itself.
	if err := keeper.Close(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func mintLines(g *randflake.Generator, n int) (text []byte, err error) {
	for range n {
		id, err := g.Wait(context.Background())
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "id %v\n", id)
	}
	return text, nil
}

// openLog opens a log, cuts off a line that was not finished, and counts the IDs in it.
func openLog(path string) (*os.File, int, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, 0, err
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	return f, bytes.Count(content, []byte("\nid ")), f.Truncate(int64(len(content)))
}

// A loggingStore logs what it grants before anybody can use it.
type loggingStore struct {
	lease.Source
	log *os.File
}

func (s *loggingStore) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	rec, err := s.Source.Acquire(ctx, req)
	return s.granted(rec, err)
}

func (s *loggingStore) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	rec, err := s.Source.Renew(ctx, held, renewal)
	return s.granted(rec, err)
}

func (s *loggingStore) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	rec, err := s.Source.Lookup(ctx, held)
	return s.granted(rec, err)
}

func (s *loggingStore) granted(rec lease.Record, err error) (lease.Record, error) {
	if err != nil {
		return rec, err
	}
	_, err = fmt.Fprintf(s.log, "granted %d %d %v %d %d %d\n", rec.FirstNode, rec.LastNode, rec.Owner, rec.Version, rec.Start, rec.HighWater)
	return rec, err
}

func (s *loggingStore) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	if _, err := fmt.Fprintf(s.log, "released %v %d\n", held.Owner, lastUsed.Unix()); err != nil {
		return err
	}
	return s.Source.Release(ctx, held, lastUsed)
}
