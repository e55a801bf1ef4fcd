package cli

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
)

func (t *tool) secretCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "secret",
		Short: "make secrets",
	}, t.secretNewCommand(), t.secretDeriveCommand())
}

func (t *tool) secretNewCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make a secret",
		Args:  noOperands,
		RunE:  func(*cobra.Command, []string) error { return t.putSecret(randflake.NewSecret(), file) },
	}
	outputFlag(cmd, &file)
	return cmd
}

func (t *tool) secretDeriveCommand() *cobra.Command {
	var from secretSource
	var file string
	version := int64(1)
	cmd := &cobra.Command{
		Use:   "derive SPACE",
		Short: "derive the secret of a space from a master secret",
		RunE: func(cmd *cobra.Command, args []string) error {
			if version > math.MaxUint32 {
				return wrong(cmd, "--version %d: want at most %d", version, math.MaxUint32)
			}
			master, err := from.named(cmd, "master secret")
			if err != nil {
				return err
			}
			return t.putSecret(master.Derive(args[0], uint32(version)), file)
		},
	}
	operands(cmd, "SPACE")
	secretFlag(cmd, &from)
	outputFlag(cmd, &file)
	numberFlag(cmd, &version, "version", "", "of the secret (default 1)")
	return cmd
}

func outputFlag(cmd *cobra.Command, file *string) {
	pathFlag(cmd, file, "output", "o", "FILE", "write it to a new file that only you can read")
}

// putSecret writes a secret to a file, or prints it.
func (t *tool) putSecret(secret randflake.Secret, file string) error {
	if file != "" {
		return local.WriteSecret(file, secret)
	}
	if err := t.wantOutput(); err != nil {
		return err
	}
	return t.print("%s\n", secret.Hex())
}
