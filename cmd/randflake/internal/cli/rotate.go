package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/store"
)

func (t *tool) secretRotateCommand() *cobra.Command {
	var h home
	var from time.Time
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "add a key to a secret, for IDs from some time on",
		Long: `Add a new key to the file of a secret, as a line that ends with the time from
which on it makes IDs. The keys before stay in the file, to open older IDs.

1. Run this with a time that leaves you enough for the next two steps.
2. Give the file to every process that makes or opens IDs, and restart them.
3. Run "randflake lease rotate", before TIME minus --max-ttl and --max-skew of
   "lease init". From then on no process without the key makes IDs after TIME.

Without step 3 no process makes IDs after TIME. Up to it you can still remove
the line.`,
		Example: `  randflake secret rotate --secret-file orders.secret --at 48h
  randflake secret rotate --at 2026-12-01T00:00:00Z`,
		Args: noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from.IsZero() {
				return wrong(cmd, "--at is missing: want the time from which on the key makes IDs")
			}
			if err := h.locate(); err != nil {
				return err
			}
			if h.secret.inVariable {
				return wrong(cmd, "%s is set: want a file with the secret", secretVariable)
			}
			if _, err := h.readSecret(); err != nil {
				return err
			}
			if err := local.AddKey(h.secret.file, randflake.NewSecret(), from); err != nil {
				return err
			}
			return t.print(fmt.Sprintf("added a key to %s that makes IDs from %s on: give the file to every process and restart them, then run: randflake lease rotate\n", h.secret.file, from.Format(time.RFC3339)))
		},
	}
	storeFlag(cmd, &h)
	secretFlag(cmd, &h.secret)
	cmd.Flags().Var(value{"TIME", func(text string) (err error) {
		from, err = timeAhead(text, time.Now())
		return err
	}}, "at", "when the key begins, or how long from now: 48h")
	return cmd
}

// timeAhead reads a time, or a duration from now.
func timeAhead(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d).Truncate(time.Second).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Before(now) {
		return at, errors.New("want a duration such as 48h, or a time in the future such as 2026-12-01T00:00:00Z")
	}
	return at.UTC(), nil
}

func (t *tool) leaseRotateCommand() *cobra.Command {
	var h home
	cmd := t.onHome(&cobra.Command{
		Use:   "rotate",
		Short: "add the new key of a secret to its store",
		Long: `Add the key that "randflake secret rotate" made to the store. From then on a
process without the key gets leases that end before the key begins, and none
afterwards. So first give the new file to every process and restart them: the
key can't be taken back.`,
		Example: "  randflake lease rotate --secret-file orders.secret --store leases",
	}, &h, func(ctx context.Context, space *store.Space) error {
		secret, err := h.readSecret()
		if err != nil {
			return err
		}
		keys := secret.Keys()
		if len(keys) == 1 {
			return errors.New("the secret has one key: add the next one with randflake secret rotate")
		}
		if err := lease.Rotate(ctx, space, secret); err != nil {
			return err
		}
		return t.print(fmt.Sprintf("%s has %d keys: the last one makes IDs from %s on\n", h.at, len(keys), keys[len(keys)-1].From.Format(time.RFC3339)))
	})
	secretFlag(cmd, &h.secret)
	return cmd
}
