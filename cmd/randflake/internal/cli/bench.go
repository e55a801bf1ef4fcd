package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/internal/costs"
)

func (t *tool) benchCommand() *cobra.Command {
	var asJSON bool
	var rounds int
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure what IDs cost on this machine",
		Long: `Measure what an ID costs on this machine with each implementation of the cipher
that its CPU has, beside a random number, a reading of the clock and a block of
AES in the same loop. It takes ten seconds. Let nothing else run meanwhile.

Costs are told in nanoseconds, and as multiples of rand.Int64 of math/rand/v2,
which drift less. A cost is that of the fastest chunk in a twentieth of a
second, so that other programs hardly count. The bounds are there too: no ID can
cost less than its encryption (EncryptSlice), nor than copying its 8 bytes.`,
		Example: `  randflake bench
  randflake bench --json >today.json
  randflake bench compare yesterday.json today.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noOperands(cmd, args); err != nil {
				return err
			}
			if rounds < 1 {
				return wrong(cmd, "--rounds %d: want 1 at least", rounds)
			}
			report, err := costs.Measure(cmd.Context(), rounds, 50*time.Millisecond)
			if err != nil {
				return err
			}
			if !asJSON {
				return outputError(report.Write(t.stdout))
			}
			report.Version = version()
			text, err := json.Marshal(report)
			if err != nil {
				return err
			}
			return t.print(string(text) + "\n")
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all rounds")
	cmd.Flags().IntVar(&rounds, "rounds", 10, "how often everything is measured")
	cmd.AddCommand(t.benchCompareCommand())
	return cmd
}

func (t *tool) benchCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare FROM TO",
		Short: "compare two measurements",
		Long: `Compare two measurements that "randflake bench --json" has printed.

Costs are compared as multiples of rand.Int64 in the same round. A difference is
told if all rounds of one measurement are on one side of all rounds of the
other, and the medians are 8 % apart. All else is noise. With fewer than ten
rounds, noise passes for a difference now and then.`,
		Example: "  randflake bench compare yesterday.json today.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return wrong(cmd, "want the files of two measurements")
			}
			from, err := readReport(args[0])
			if err != nil {
				return err
			}
			to, err := readReport(args[1])
			if err != nil {
				return err
			}
			return t.printDifferences(from, to)
		},
	}
}

func readReport(path string) (*costs.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(costs.Report)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w: want what \"randflake bench --json\" prints", path, err)
	}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w: want what \"randflake bench --json\" prints", path, err)
	}
	return r, nil
}

func (t *tool) printDifferences(from, to *costs.Report) error {
	list := costs.Compare(from, to)
	if len(list) == 0 {
		return errors.New("the measurements have nothing in common")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "from  %s, %s, %s\nto    %s, %s, %s\n\n", from.CPU, from.Go, from.Version, to.CPU, to.Go, to.Version)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "backend\tsubject\tfrom ns\tto ns\tbeside rand.Int64\t\n")
	for _, d := range list {
		verdict := "noise"
		if d.Real {
			verdict = fmt.Sprintf("%+.0f %%", 100*(d.Ratio-1))
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%.2f\t%s\t\n", d.Backend, d.Name, d.From, d.To, verdict)
	}
	w.Flush()
	return t.print(b.String())
}
