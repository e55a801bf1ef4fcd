package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/url"
)

// Probe reads the secrets and opens the stores of a configuration that Parse returned. Its error has all that is missing or
// does not fit together. It changes nothing.
func (c *Config) Probe(ctx context.Context) error {
	k := c.source
	found := map[string]string{} // names of spaces by the incarnation of what they have in a store
	for i, s := range c.Spaces {
		p := fmt.Sprintf("spaces[%d]", i)
		var keys store.Keys
		keys.UnmarshalText([]byte(s.Check)) // Parse has checked it
		second := int64(0)                  // as of then, only the first key counts
		if s.SecretFile != "" {
			secret, err := local.ReadSecret(s.SecretFile)
			if err != nil {
				k.wrong(p+".secretFile", "%v", err)
			} else {
				keys, second = store.KeysOf(secret), time.Now().Unix()
			}
		}
		if s.Store == "" && s.StoreFile == "" {
			continue
		}
		meta, err := s.look(ctx)
		switch other := found[meta.Incarnation]; {
		case errors.Is(err, store.ErrNoStore):
			k.wrong(p+".store", "%v; correct the name, or create it with randflake lease init", err)
			continue
		case err != nil:
			k.wrong(p+".store", "%v", err)
			continue
		case other != "":
			k.wrong(p+".store", "space %s has the same one: want a store, or a space in it, for each", other)
		case s.Kind != "randflake" && len(meta.Check) > 0:
			k.wrong(p+".store", "it is that of a space of Randflake IDs, with a secret whose check value is %s: want another one for %s IDs", meta.Check, s.Kind)
		default:
			_, err := (&store.View{Meta: &meta}).CheckSecret(keys, second)
			k.must(err == nil, p+".store", "%v", err)
		}
		found[meta.Incarnation] = s.Name
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
	space, err := url.Open(ctx, location)
	if err != nil {
		return meta, err
	}
	defer space.Close()
	return space.Info(ctx)
}
