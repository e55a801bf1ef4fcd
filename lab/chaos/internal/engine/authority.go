package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// long is how long certificates are good, also by clocks that are a day off.
const long = 72 * time.Hour

// An authority signs certificates, which it writes to files: NAME.pem with that of the key in NAME.key.
type authority struct {
	dir         string
	certificate *x509.Certificate // its own, in ca.pem
	key         *ecdsa.PrivateKey
}

func newAuthority(dir string) (a *authority, err error) {
	a = &authority{dir: dir}
	a.certificate = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "chaos"}, NotBefore: time.Now().Add(-long),
		NotAfter: time.Now().Add(long), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	return a, a.write("ca", a.certificate, a.key)
}

// sign writes a certificate for a DNS name, and for this machine, that is good until then.
func (a *authority) sign(name string, until time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return a.write(name, &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-long), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature}, key)
}

func (a *authority) write(name string, certificate *x509.Certificate, key *ecdsa.PrivateKey) error {
	signed, err := x509.CreateCertificate(rand.Reader, certificate, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(replace(a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		replace(a.file(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// replace writes a file such that others read what was there before, or all of it.
func replace(file string, content []byte) error {
	next := file + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}
