package config

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
)

// Probe reads the secrets and opens the stores of a configuration that Parse returned. Its error has all that is missing or does
// not fit together. It changes nothing.
func (c *Config) Probe(ctx context.Context) error {
	k := checker{file: c.file}
	for i, s := range c.Spaces {
		p := fmt.Sprintf("spaces[%d]", i)
		check, err := s.CheckValue()
		if err != nil {
			k.wrong(p+".secretFile", "%v", err)
		}
		if s.Store == "" && s.StoreFile == "" {
			continue
		}
		info, err := s.look(ctx)
		switch {
		case errors.Is(err, lease.ErrNoSpace):
			k.wrong(p+".store", "%v; correct the name, or create it with randflake store init", err)
		case err != nil:
			k.wrong(p+".store", "%v", err)
		case s.Kind != "randflake" && info.Check != "":
			k.wrong(p+".store", "it is that of a space of Randflake IDs, with a secret whose check value is %s: want another one for %s IDs", info.Check, s.Kind)
		case check != "" && info.Check != "" && check != info.Check:
			k.wrong(p+".store", "it is for a secret whose check value is %s, and this one's is %s: is it that of another environment?", info.Check, check)
		}
	}
	return errors.Join(k.problems...)
}

// CheckValue returns the check value of the space's secret as the configuration has it, in hexadecimal, or "".
func (s Space) CheckValue() (string, error) {
	if s.SecretFile == "" {
		return s.Check, nil
	}
	secret, err := local.ReadSecret(s.SecretFile)
	if err != nil {
		return "", err
	}
	check := secret.CheckValue()
	return hex.EncodeToString(check[:]), nil
}

// look returns what the store of a space says of it.
func (s Space) look(ctx context.Context) (info lease.Info, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	location, err := s.Location()
	if err != nil {
		return info, err
	}
	space, err := url.Open(ctx, location, lease.Config{})
	if err != nil {
		return info, err
	}
	defer space.Close()
	return space.Info(ctx)
}
