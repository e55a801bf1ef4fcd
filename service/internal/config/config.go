// Package config reads randflaked's configuration, strictly: what it does not know, and what can't work, is an error
// that says where, and what to do.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // a container may have none

	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/lease"
)

// A Config is what a file of YAML says.
type Config struct {
	Listen    string `yaml:"listen"`    // address and port; localhost:8080 without
	Probes    string `yaml:"probes"`    // address and port for /healthz and /readyz alone, by plain HTTP; only on Listen without
	TLS       *TLS   `yaml:"tls"`       // plain HTTP without
	Plaintext bool   `yaml:"plaintext"` // others may come without TLS, as through a proxy that has it
	LogLevel  string `yaml:"logLevel"`  // debug, info, warn or error; info without
	Audit     string `yaml:"audit"`     // file that lines are appended to; standard error without
	AuditMint bool   `yaml:"auditMint"` // a line for each call that makes IDs, too

	Spaces     []Space     `yaml:"spaces"`
	Issuers    []Issuer    `yaml:"issuers"`
	Principals []Principal `yaml:"principals"`
	Rules      []Rule      `yaml:"rules"`

	Level slog.Level `yaml:"-"` // what LogLevel says
}

// TLS names files in PEM.
type TLS struct {
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
	ClientCA    string `yaml:"clientCA"` // of those who sign certificates of clients; no client has one without
}

// A Space is one of IDs and counters.
type Space struct {
	Name       string `yaml:"name"`
	Kind       string `yaml:"kind"` // randflake, ulid, or a layout of Snowflake IDs
	Store      string `yaml:"store"`
	StoreFile  string `yaml:"storeFile"`  // file with what store would say, which may have a password
	SecretFile string `yaml:"secretFile"` // with it the service makes and opens IDs; without it, only generators have the secret
	Nodes      int    `yaml:"nodes"`      // of the lease by which the service itself makes IDs; 1 without
	Limits     Limits `yaml:"limits"`

	Counters []Counter `yaml:"counters"`
}

// Defaults of limits, where neither a rule nor a space sets them.
const (
	DefaultBatch = 10_000
	DefaultRate  = 1000.0
)

// Limits bound calls; 0 is no bound, or the default.
type Limits struct {
	Nodes int     `yaml:"nodes"` // of a lease
	Batch uint64  `yaml:"batch"` // IDs or numbers of a call
	Rate  float64 `yaml:"rate"`  // calls a second of a principal, in this process
}

// A Counter is made at its first use. What it is must never change.
type Counter struct {
	Name   string `yaml:"name"`   // or a pattern, such as orders/*, for all whose names begin so, or * for all others
	Start  int64  `yaml:"start"`  // 1 without
	Step   int64  `yaml:"step"`   // 1 without
	End    int64  `yaml:"end"`    // the largest int64 without
	Period string `yaml:"period"` // with each it begins at the start: day, week, month, quarter, year, or fiscal year from April on
	Zone   string `yaml:"zone"`   // in which periods begin, such as Europe/Berlin; UTC without
	Check  string `yaml:"check"`  // value of the series of package numbers that has the counter
}

// PeriodAt returns the period of the counter that contains t, or the zero one.
func (c Counter) PeriodAt(t time.Time) (lease.Period, error) {
	if c.Period == "" {
		return lease.Period{}, nil
	}
	period, err := numbers.ParsePeriod(c.Period)
	zone, unknown := time.LoadLocation(c.Zone)
	if err := cmp.Or(err, unknown); err != nil {
		return lease.Period{}, err
	}
	return period.At(t, zone), nil
}

// Counter returns what the space has for a counter: by its name, or else by the longest pattern.
func (s Space) Counter(name string) (found Counter, ok bool) {
	for _, c := range s.Counters {
		prefix, pattern := strings.CutSuffix(c.Name, "*")
		if c.Name == name {
			return c, !pattern
		}
		if pattern && strings.HasPrefix(name, prefix) && len(name) > len(prefix) && len(c.Name) > len(found.Name) {
			found, ok = c, true
		}
	}
	return found, ok
}

// An Issuer signs tokens, as a Kubernetes cluster does for its service accounts.
type Issuer struct {
	Issuer    string `yaml:"issuer"`
	Audience  string `yaml:"audience"`
	JWKS      string `yaml:"jwks"`      // file, or https URL, of its public keys; found by the issuer's URL without
	CA        string `yaml:"ca"`        // file of who signs that server's certificate; the system's without
	TokenFile string `yaml:"tokenFile"` // of a token that the URL asks for
}

// A Principal is who calls, and shows it in any of these ways.
type Principal struct {
	Name           string          `yaml:"name"`
	Certificates   Certificates    `yaml:"certificates"`
	Tokens         []string        `yaml:"tokens"` // SHA-256 of bearer tokens, from randflaked token
	ServiceAccount *ServiceAccount `yaml:"serviceAccount"`
}

// Certificates are the names in certificates of clients that stand for a principal, by their kind.
type Certificates struct {
	DNS []string `yaml:"dns"`
	URI []string `yaml:"uri"`
}

// Names of callers that no principal may have.
const (
	Self   = "randflaked" // the service, which takes leases for itself
	Anyone = "anyone"     // everybody, without principals
)

// A ServiceAccount is the subject of an issuer's tokens, such as system:serviceaccount:shop:billing.
type ServiceAccount struct {
	Issuer  string `yaml:"issuer"`
	Subject string `yaml:"subject"`
}

// A Rule lets principals do things in spaces. An asterisk alone stands for all principals, or all spaces.
type Rule struct {
	Principals []string `yaml:"principals"`
	Spaces     []string `yaml:"spaces"`
	Verbs      []string `yaml:"verbs"`
	Limits     Limits   `yaml:"limits"`
}

// quoted is how package yaml shows values and anchors, which may be secret, and have quotes in them.
var quoted = regexp.MustCompile("[`'].*[`']")

// Read reads a file.
func Read(file string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(file, data)
}

// Parse reads what a file says. The error has all that is wrong with it.
func Parse(file string, data []byte) (*Config, error) {
	c := &Config{Listen: "localhost:8080"}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %s is empty: want spaces at least", file)
	} else if err != nil {
		return nil, fmt.Errorf("config: %s: %s", file, quoted.ReplaceAllString(err.Error(), "what is there"))
	}
	if err := decoder.Decode(new(Config)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %s: more than one document: want one", file)
	}
	k := checker{file: file}
	k.check(c)
	return c, errors.Join(k.problems...)
}
