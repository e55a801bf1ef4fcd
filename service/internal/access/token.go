package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/service/internal/config"
)

// byToken returns the principal of a bearer token. The error contains nothing of the token.
func (p *Policy) byToken(ctx context.Context, token string) (principal string, err error) {
	hash := sha256.Sum256([]byte(token))
	if who := p.principals["token "+hex.EncodeToString(hash[:])]; who != "" {
		return who, nil
	}
	isJWT := strings.Count(token, ".") == 2
	if len(p.issuers) == 0 || !isJWT {
		return "", refusedToken{}
	}
	signed, err := p.verify(ctx, token)
	if err != nil {
		return "", refusedToken{err}
	}
	who := p.tokens[signed]
	if who == "" {
		why := fmt.Errorf("no principal has tokens of the subject %.100q of %q", signed.Subject, signed.Issuer)
		return "", refusedToken{why}
	}
	return who, nil
}

// A refusedToken is an error whose text shows strangers neither issuers nor keys.
type refusedToken struct{ why error } // for the log, or nil

func (refusedToken) Error() string { return ErrUnknown.Error() + ": no principal has this token" }
func (refusedToken) Unwrap() error { return ErrUnknown }

// Why returns the text of err for the log, which may say more than err does to strangers.
func Why(err error) string {
	if refused, ok := errors.AsType[refusedToken](err); ok && refused.why != nil {
		return refused.why.Error()
	}
	return err.Error()
}

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
		return of, fmt.Errorf("access: token of %s: its signature is not that of its key", i.config.Issuer)
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
