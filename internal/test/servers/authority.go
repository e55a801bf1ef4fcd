package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"time"
)

// An Authority signs certificates.
type Authority struct{ tls.Certificate }

// NewAuthority returns an authority with a new key.
func NewAuthority() *Authority {
	a := &Authority{}
	a.Certificate = a.Sign(24*time.Hour, nil, func(c *x509.Certificate) { c.IsCA, c.Subject.CommonName = true, "ca" })
	return a
}

// Sign returns a certificate with DNS names and this machine's addresses, good for some time, as
// the functions change it.
func (a *Authority) Sign(left time.Duration, dns []string, change ...func(*x509.Certificate)) tls.Certificate {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // fails for no curve that Go has
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		DNSNames:              dns,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(left),
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, f := range change {
		f(c)
	}
	parent, signer := a.Leaf, a.PrivateKey
	if c.IsCA {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		panic(err)
	}
	leaf, _ := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Pool returns a pool with authorities.
func Pool(all ...*Authority) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, a := range all {
		pool.AddCert(a.Leaf)
	}
	return pool
}
