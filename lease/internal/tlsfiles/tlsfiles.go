// Package tlsfiles reads what an engine's URL says of TLS. It is apart so that a program which
// keeps everything in a directory has no network code.
package tlsfiles

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	"github.com/randflake/randflake/internal/smallfile"
	"github.com/randflake/randflake/lease/internal/storeurl"
)

// Take removes the parameters ca, certificate and key, which name files in PEM format. ca has the
// authorities that may sign the server's certificate; if it is not given, the system's may. The other
// two are the client's. Take returns nil if none is given.
func Take(query url.Values) (*tls.Config, error) {
	ca := storeurl.TakeParameter(query, "ca")
	cert := storeurl.TakeParameter(query, "certificate")
	key := storeurl.TakeParameter(query, "key")
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := smallfile.Read(ca)
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("store: URL: ca=%s: %w", ca, cmp.Or(err, errors.New("no certificate in PEM format")))
		}
	}
	if cert != "" || key != "" {
		certPEM, certErr := smallfile.Read(cert)
		keyPEM, keyErr := smallfile.Read(key)
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err := cmp.Or(certErr, keyErr, err); err != nil {
			return nil, fmt.Errorf("store: URL: certificate=%s, key=%s: %w", cert, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
