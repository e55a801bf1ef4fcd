package chaos

import (
	"encoding/gob"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// second is the first one of the leases in these tests.
const second = 1_800_000_000

// A step is what a process notes: an event, or n IDs of a second and node from a sequence on, or of
// that sequence alone.
type step struct {
	by string
	event
	second   int64
	node     uint32
	sequence uint32
	n        int
	alike    bool
}

func (s step) ids(cipher *randflake.Cipher) (ids []randflake.ID) {
	raw := randflake.Raw(s.second-randflake.Epoch)<<34 | randflake.Raw(s.node)<<17 | randflake.Raw(s.sequence)
	for range s.n {
		ids = append(ids, cipher.Encrypt(raw))
		if !s.alike {
			raw++
		}
	}
	return ids
}

func granted(by string, first, last uint32, start, end int64) step {
	return step{by: by, event: event{Granted: &randflake.Lease{
		FirstNode: first,
		LastNode:  last,
		Start:     time.Unix(second+start, 0),
		End:       time.Unix(second+end, 0),
	}}}
}

func adopted(by string, first, last uint32, start, end int64) step {
	s := granted(by, first, last, start, end)
	s.Adopted = true
	return s
}

func counted(by string, first, last int64) step {
	return step{by: by, event: event{Counter: "orders", Runs: [][2]int64{{first, last}}}}
}

func made(by string, at int64, node, sequence uint32, n int) step {
	return step{by: by, second: second + at, node: node, sequence: sequence, n: n}
}

// TestCheck plants histories.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []step
		want  result // but for Wrong
	}{
		{"nothing", nil, result{}},
		{"as it should be", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 0, 0, 0, 1000),
			made("a", 5, 9, 0, 1000),
			granted("b", 10, 19, 0, 6),
			made("b", 0, 10, 0, 1000),
			granted("a", 0, 9, 6, 9),
			made("a", 8, 9, 0, 10),
			made("a", 5, 8, 0, 10),
			granted("c", 0, 9, 9, 15),
			made("c", 9, 0, 0, 10),
			counted("a", 1, 100),
			counted("b", 101, 101),
			counted("a", 102, 200),
		}, result{IDs: 3030, Numbers: 200}},
		{"two seconds of all nodes", []step{
			granted("a", 0, randflake.MaxNode, 0, 6),
			made("a", 0, randflake.MaxNode, randflake.MaxSequence, 1),
			made("a", 1, 0, 0, 1),
		}, result{IDs: 2}},
		{"an ID twice by one process", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 3, 0, 7, 1),
			made("a", 3, 0, 8, 10),
			made("a", 3, 0, 7, 1),
		}, result{IDs: 12, Duplicates: 1, LastDuplicate: second + 3}},
		{"an ID twice in one call", []step{
			granted("a", 0, 9, 0, 6),
			{by: "a", second: second, n: 2, alike: true},
		}, result{IDs: 2, Duplicates: 1, LastDuplicate: second}},
		{"IDs twice by a copy", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 2, 0, 0, 100),
			adopted("b", 0, 9, 0, 6),
			made("b", 2, 0, 90, 100),
		}, result{IDs: 200, Duplicates: 10, LastDuplicate: second + 2}},
		{"a lease that begins before the other ends", []step{
			granted("a", 0, 9, 0, 6),
			granted("b", 9, 20, 5, 11),
		}, result{Shared: 1}},
		{"a lease granted to two processes", []step{
			granted("a", 0, 9, 0, 6),
			granted("b", 0, 9, 0, 6),
		}, result{Shared: 1}},
		{"a copy that shares nodes with a third process", []step{
			granted("a", 0, 9, 0, 6),
			adopted("b", 0, 9, 0, 12),
			granted("c", 0, 9, 6, 12),
		}, result{Shared: 1}},
		{"an ID without a lease", []step{made("a", 0, 0, 0, 5)}, result{IDs: 5, Outside: 5}},
		{"an ID of the lease of another process", []step{
			granted("a", 0, 9, 0, 6),
			made("b", 0, 0, 0, 5),
		}, result{IDs: 5, Outside: 5}},
		{"an ID before its lease", []step{
			granted("a", 0, 9, 1, 6),
			made("a", 0, 0, 0, 1),
		}, result{IDs: 1, Outside: 1}},
		{"an ID after its lease", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 6, 0, 0, 1),
		}, result{IDs: 1, Outside: 1}},
		{"an ID of a node after those of its lease", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 0, 10, 0, 1),
		}, result{IDs: 1, Outside: 1}},
		{"an ID made before its lease was granted", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 6, 0, 0, 1),
			granted("a", 0, 9, 6, 12),
		}, result{IDs: 1, Outside: 1}},
		{"a run of IDs that goes on beyond the last node", []step{
			granted("a", 0, 9, 0, 6),
			made("a", 0, 9, randflake.MaxSequence, 2),
		}, result{IDs: 2, Outside: 1}},
		{"numbers twice", []step{
			counted("a", 1, 100),
			counted("b", 100, 103),
			counted("a", 50, 50),
		}, result{Numbers: 105, TwiceGiven: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			secret := randflake.NewSecret()
			got, err := check(secret, write(t, secret, tt.steps))
			require.NoError(t, err)
			require.That(t, len(got.Wrong) == 0 == got.ok(), "OK %t, and wrong is %q", got.ok(), got.Wrong)
			got.Wrong = nil
			require.That(t, reflect.DeepEqual(got, tt.want), "found %+v, want %+v", got, tt.want)
		})
	}
	if (result{TwiceGiven: 1}).err(time.Now()) == nil {
		t.Error("a copy may repeat IDs, and is allowed to repeat numbers too")
	}
}

// write writes the journals of steps. A last event that is not complete, as of a process that was killed, is left out.
func write(t *testing.T, secret randflake.Secret, steps []step) (paths []string) {
	dir := t.TempDir()
	cipher := randflake.NewCipher(secret)
	journals := make(map[string]*gob.Encoder)
	for _, s := range steps {
		j := journals[s.by]
		if j == nil {
			path := filepath.Join(dir, s.by)
			created, err := newJournal(path)
			require.NoError(t, err)
			j = created
			journals[s.by] = j
			paths = append(paths, path)
		}
		s.IDs = s.ids(cipher)
		require.NoError(t, j.Encode(s.event))
	}
	for _, path := range paths {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		file.Write([]byte{16, 1, 2, 3})
		file.Close()
	}
	return append(paths, filepath.Join(dir, "of a process that never began"))
}
