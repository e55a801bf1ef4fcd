package config

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storeurl"
)

// Probe reads the secrets and opens the stores of a configuration that Parse returned. Its error has all that is missing or
// does not fit together. It changes nothing.
func (c *Config) Probe(ctx context.Context) error {
	k := c.source
	found := map[string]string{} // names of spaces by the incarnation of what they have in a store
	for i, s := range c.Spaces {
		p := path{"spaces", i}
		var check, secret store.Keys
		check.UnmarshalText([]byte(s.Check)) // Parse has checked it
		if s.SecretFile != "" {
			has, err := local.ReadSecret(s.SecretFile)
			if err != nil {
				k.wrong(p.of("secretFile"), "%v", err)
			} else {
				secret = store.KeysOf(has)
				check = secret
			}
		}
		if s.Store == "" && s.StoreFile == "" {
			continue
		}
		meta, err := s.look(ctx)
		switch other := found[meta.Incarnation]; {
		case errors.Is(err, store.ErrNoStore):
			k.wrong(p.of("store"), "%v; correct the name, or create it with randflake lease init", err)
		case err != nil:
			k.wrong(p.of("store"), "%v", err)
		case other != "":
			k.wrong(p.of("store"), "space %s has the same one: want a store, or a space in it, for each", other)
		case s.Kind != "randflake" && len(meta.Check) > 0:
			k.wrong(p.of("store"), "it is that of a space of Randflake IDs, with a secret whose check value is %s: want another one for %s IDs", meta.Check, s.Kind)
		case len(check) > 0 && len(meta.Check) > 0 && check[0] != meta.Check[0]:
			k.wrong(p.of("store"), "it is that of another secret, whose check value is %s, not %s: correct the name of the store or of the secret", meta.Check[0].Check, check[0].Check)
		case len(secret) > 0:
			if _, err := (&store.View{Meta: &meta}).CheckSecret(secret, time.Now().Unix()); err != nil {
				k.wrong(p.of("secretFile"), "%v", err)
			}
		}
		if err == nil {
			found[meta.Incarnation] = s.Name
		}
	}
	return errors.Join(k.problems...)
}

// look returns what the store of a space says of it.
func (s Space) look(ctx context.Context) (meta store.Meta, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	location, err := s.Location()
	if err != nil {
		return meta, err
	}
	space, err := storeurl.Open(ctx, location)
	if err != nil {
		return meta, err
	}
	defer space.Close()
	return space.Info(ctx)
}
