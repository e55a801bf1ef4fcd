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
	k, counters := c.source, map[string]Counter{}
	for _, counter := range c.Counters {
		counters[counter.Name] = counter
	}
	for i, s := range c.Spaces {
		p := fmt.Sprintf("spaces[%d]", i)
		check, err := s.CheckValue()
		if err != nil {
			k.wrong(p+".secretFile", "%v", err)
		}
		if s.Store == "" && s.StoreFile == "" {
			continue
		}
		info, names, err := s.look(ctx)
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
		for _, name := range names {
			by, _ := ByName(counters, name)
			if by.Space != "" && by.Space != s.Name && !by.Moved && !c.shared(by.Space, s) {
				k.wrong("counters", "%s is in space %s, and the store of space %s has it: its numbers would be given again: leave it there, or set moved to true", name, by.Space, s.Name)
			}
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

// shared reports whether two spaces have their data in one place.
func (c *Config) shared(name string, other Space) bool {
	for _, s := range c.Spaces {
		here, err := s.Location()
		if there, failed := other.Location(); s.Name == name && err == nil && failed == nil {
			return here == there
		}
	}
	return false
}

// look returns what the store of a space says of it, and the names of its counters.
func (s Space) look(ctx context.Context) (info lease.Info, names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	location, err := s.Location()
	if err != nil {
		return info, nil, err
	}
	space, err := url.Open(ctx, location, lease.Config{})
	if err != nil {
		return info, nil, err
	}
	defer space.Close()
	for after, page := "", 1000; page == 1000; after = names[len(names)-1] {
		counters, err := space.Counters(ctx, after, 1000)
		if page = len(counters); err != nil || page == 0 {
			break
		}
		for _, one := range counters {
			names = append(names, one.Name)
		}
	}
	info, err = space.Info(ctx)
	return info, names, err
}
