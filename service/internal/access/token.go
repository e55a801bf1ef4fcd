package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/service/internal/config"
)

// algorithms are signatures by public keys only: with a shared key, whoever checks a token could also make one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const leeway = 30 * time.Second // by which clocks may differ

// verify returns whose token it is, if its signature, issuer, audience and times are right. A token
// without an expiry is refused.
func (p *Policy) verify(ctx context.Context, raw string) (of config.Token, err error) {
	token, err := jwt.ParseSigned(raw, algorithms)
	if err != nil {
		return of, errors.New("access: token can't be read as a JWT signed by a public key")
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil { // only to find the issuer
		return of, errors.New("access: token has no claims")
	}
	i, ok := p.issuers[claims.Issuer]
	if !ok {
		return of, fmt.Errorf("access: issuer %.100q is not known", claims.Issuer)
	}
	candidates, err := i.find(ctx, token.Headers[0].KeyID)
	if err != nil {
		return of, err
	}
	signed := slices.ContainsFunc(candidates, func(key jose.JSONWebKey) bool {
		return token.Claims(key.Key, &claims) == nil
	})
	if !signed {
		return of, fmt.Errorf("access: token of %s: its signature is not that of its key",
			i.config.Issuer)
	}
	if err := i.validate(claims); err != nil {
		return of, fmt.Errorf("access: token of %s: %w", i.config.Issuer, err)
	}
	return config.Token{Issuer: claims.Issuer, Subject: claims.Subject}, nil
}

// validate checks the claims of a token whose signature is right.
func (i *issuer) validate(claims jwt.Claims) error {
	want := jwt.Expected{
		Issuer:      i.config.Issuer,
		AnyAudience: jwt.Audience{i.config.Audience},
		Time:        time.Now(),
	}
	if err := claims.ValidateWithLeeway(want, leeway); err != nil {
		return err
	}
	if claims.Expiry == nil {
		return errors.New("it has no expiry")
	}
	return nil
}
