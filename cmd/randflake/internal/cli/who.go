package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// noNode is the value of a --node that is not given.
const noNode = uint32(math.MaxUint32)

func nodeFlag(cmd *cobra.Command, node *uint32) {
	cmd.Flags().Var(value{"NODE", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 32)
		if *node = uint32(n); err != nil || n > randflake.MaxNode {
			return fmt.Errorf("want 0 to %d", randflake.MaxNode)
		}
		return nil
	}}, "node", "a node of the lease")
}

const unlabeled = "a process without a label"

// A grant is a lease as far as it tells who made an ID.
type grant struct {
	first, last uint32
	start       time.Time
	holder      string
	unless      string // what can be wrong about it
}

func (g grant) has(node uint32) bool { return g.first <= node && node <= g.last }

func (t *tool) leaseWhoCommand() *cobra.Command {
	var h home
	var at time.Time
	var log, space string
	node := noNode
	cmd := &cobra.Command{
		Use:   "who [ID]",
		Short: "show who held a node at a time",
		Long: `Show the label of the process that held a node at a time, or when and where an
ID was made, and from when on it held the node.

The store has the newest lease of each node. For earlier ones, --log reads the
lines that keepers log, or the audit log of randflaked, in place of the store:
those of all processes, in any order, as slog.JSONHandler writes them; other
lines are skipped. Lines of several stores need an attribute "space", as
lease.WithLogger(slog.With("space", "orders")) adds it, and --space.`,
		Example: `  randflake lease who --node 17 --at 2026-01-31T12:00:00Z
  cat app*.log | randflake lease who --log - 28v9ko8k3hqq2`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if len(ids) > 1 || (len(ids) == 1) == (node != noNode) || (node == noNode) != at.IsZero() {
				return wrong(cmd, "want an ID, or --node and --at")
			}
			if err := h.resolve(t); err != nil {
				return err
			}
			if len(ids) == 1 {
				id, err := (&parser{from: "auto"}).parse(ids[0])
				if err != nil {
					return err
				}
				secret, err := h.readSecret()
				if err != nil {
					return err
				}
				fields := randflake.NewCipher(secret).Inspect(id)
				if node, at = fields.Node, fields.Time; at.After(time.Now().Add(clockSkew)) {
					return fmt.Errorf("%s: it would be of %s: was it made with another secret?", ids[0], at.UTC().Format(time.RFC3339))
				}
			}
			ask := func() (grant, error) { return h.newestOf(cmd.Context(), node, at) }
			if log != "" {
				ask = func() (grant, error) { return t.loggedOf(log, space, node, at) }
			}
			g, err := ask()
			if err != nil {
				return err
			}
			return t.print(fmt.Sprintf("%s held node %d at %s, as one of nodes %d to %d, from %s on%s\n", g.holder, node, at.UTC().Format(time.RFC3339), g.first, g.last, g.start.Format(time.RFC3339), g.unless))
		},
	}
	nodeFlag(cmd, &node)
	cmd.Flags().Var(value{"TIME", func(text string) (err error) {
		at, err = parseTime(text)
		return err
	}}, "at", "a time, to the second")
	pathFlag(cmd, &log, "log", "", "FILE", "read these lines, not the store; - is standard input")
	cmd.Flags().StringVar(&space, "space", "", `the "space" of the lines, if they have one`)
	storeFlag(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// newestOf returns the lease of a node at a time, if it is the newest one, which the store has.
func (h *home) newestOf(ctx context.Context, node uint32, at time.Time) (grant, error) {
	space, err := h.openStore(ctx)
	if err != nil {
		return grant{}, err
	}
	defer space.Close()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	records, err := lease.On(space).List(ctx)
	if err != nil {
		return grant{}, err
	}
	v, err := space.Look(ctx, nil, store.Page{})
	if err != nil {
		return grant{}, err
	}
	i := slices.IndexFunc(records, func(r lease.Record) bool { return r.FirstNode <= node && node <= r.LastNode })
	if i < 0 {
		return grant{}, fmt.Errorf("node %d was never leased as it is now: name the logs of that time with --log", node)
	}
	r := records[i]
	switch l := r.Lease(); {
	case at.Before(l.Start):
		return grant{}, fmt.Errorf("the store has the newest lease of node %d only, which starts at %s: name the logs of that time with --log", node, l.Start.Format(time.RFC3339))
	case !at.Before(l.End):
		return grant{}, fmt.Errorf("nobody: the newest lease of node %d ended before %s", node, l.End.Format(time.RFC3339))
	}
	unless := ""
	if v.Meta.Losses > 0 && at.Unix() < v.Meta.Floor || v.Loss() != "" {
		unless = "; but the store has lost data since then, and may have forgotten a later lease: see the logs of that time with --log"
	}
	return grant{r.FirstNode, r.LastNode, r.Lease().Start, cmp.Or(r.Label, unlabeled), unless}, nil
}

// A leaseLine is what matters of a line in the log of a keeper, or in the audit log of randflaked.
type leaseLine struct {
	Message   string `json:"msg"`
	Space     string `json:"space"`
	Label     string `json:"label"`
	Principal string `json:"principal"`
	Start     any    `json:"start"` // a time, or Unix seconds in the audit log
	First     uint32 `json:"firstNode"`
	Last      uint32 `json:"lastNode"`
	FirstToo  uint32 `json:"first_node"`
	LastToo   uint32 `json:"last_node"`
}

// grant returns the lease that a line is about.
func (l leaseLine) grant() (g grant, ok bool) {
	g = grant{max(l.First, l.FirstToo), max(l.Last, l.LastToo), time.Time{}, cmp.Or(l.Label, unlabeled), ""}
	if l.Principal != "" && l.Principal != l.Label {
		g.holder = l.Principal + " (" + g.holder + ")"
	}
	switch start := l.Start.(type) {
	case string:
		g.start, _ = time.Parse(time.RFC3339, start)
	case float64:
		g.start = time.Unix(int64(start), 0).UTC()
	}
	g.holder = strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) { // as a terminal would take it for a command
			return '_'
		}
		return c
	}, g.holder)
	return g, !g.start.IsZero() && (l.Message == "grant" || strings.HasPrefix(l.Message, "randflake: "))
}

// loggedOf returns the lease of a node at a time by the lines of a log: the last one before that, as a node's leases don't
// overlap. How often it was renewed is not in the log.
func (t *tool) loggedOf(log, space string, node uint32, at time.Time) (newest grant, err error) {
	in := t.stdin
	if log != "-" {
		file, err := os.Open(log)
		if err != nil {
			return grant{}, err
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewReader(in)
	for err == nil {
		var text []byte
		text, err = lines.ReadBytes('\n')
		var line leaseLine
		if json.Unmarshal(text, &line) != nil || line.Space != space {
			continue
		}
		if g, ok := line.grant(); ok && g.has(node) && !g.start.After(at) && g.start.After(newest.start) {
			newest = g
		}
	}
	if !errors.Is(err, io.EOF) {
		return grant{}, err
	}
	if newest.start.IsZero() {
		return grant{}, fmt.Errorf("%s has no line in JSON on a lease of node %d by that time: want the logs of all processes, and with --space those of one store", log, node)
	}
	return newest, nil
}
