package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// trustWords say, by how a URL begins, what a space may be trusted to lose nothing by.
var trustWords = map[string]string{
	"postgres":   "promotion",
	"postgresql": "promotion",
	"redis":      "restart",
	"rediss":     "restart",
}

const noTrust = "none"

// trustWord returns the word for a store, or "" where there is nothing to trust.
func trustWord(at url.Location) string {
	scheme, _, _ := strings.Cut(at.URL, ":")
	return trustWords[scheme]
}

// parseTrust returns whether a word says that a space in a store trusts incarnations.
func parseTrust(cmd *cobra.Command, word string, at url.Location) (bool, error) {
	known := trustWord(at)
	switch {
	case word == noTrust:
		return false, nil
	case known == "":
		return false, wrong(cmd, "trust %s: there is nothing to trust in such a store: "+
			"it is for PostgreSQL and Redis", word)
	case word != known:
		return false, wrong(cmd, "trust %s: want %s or %s for such a store", word, known, noTrust)
	}
	return true, nil
}

func (t *tool) storeTrustCommand() *cobra.Command {
	var h home
	var word string
	cmd := &cobra.Command{
		Use:   "trust [STORE] WORD",
		Short: "say that promotions or restarts lose nothing",
	}
	storeOperand(cmd, &h)
	noWord := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		last := len(args) - 1
		if last < 0 {
			return wrong(cmd, "WORD is missing: want promotion, restart or %s", noTrust)
		}
		word = args[last]
		return noWord(cmd, args[:last])
	}
	cmd.RunE = h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
		trust, err := parseTrust(cmd, word, h.at)
		if err != nil {
			return err
		}
		return t.setTrust(ctx, space, trust, word)
	})
	return cmd
}

// setTrust changes the trust of a space, and says from when on leases are granted then.
func (t *tool) setTrust(ctx context.Context, space *lease.Space, trust bool, word string) error {
	before, err := readInfo(ctx, space)
	if err != nil {
		return err
	}
	if err := space.SetTrust(ctx, trust); err != nil {
		return err
	}
	info, err := space.Info(ctx)
	if err != nil {
		return err
	}
	switch {
	case before.Trust == trust:
		return t.print("%s: trust is %s, as before\n", space, word)
	case info.Retired:
		return t.print("%s: trust is %s from now on; it stays retired, and grants nothing any more\n", space, word)
	}
	return t.print("%s: trust is %s from now on; %s; set each counter beyond all numbers that it gave\n",
		space, word, beginning(info))
}

// addTrust says what is trusted, if anything may be.
func (f *findings) addTrust() {
	word := trustWord(f.home.at)
	switch {
	case word == "":
	case f.info.Trust:
		f.add(true, "trust is %s: that is no loss of data", word)
	default:
		f.add(true, "trust is %s: each %s is taken for a loss of data", noTrust, word)
	}
}
