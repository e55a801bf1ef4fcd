// Package config reads randflaked's configuration, strictly: what it does not know, and what can't work, is an error
// that says where, and what to do. config.go has what a file may say, check.go what must be right about it.
package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // a container may have none

	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/internal/smallfile"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// A Config is what a file of YAML says. lab/promises reads defaults out of the comments on fields.
type Config struct {
	Listen    string `yaml:"listen"`    // address and port; default localhost:8080
	Probes    string `yaml:"probes"`    // address and port for /healthz and /readyz alone
	TLS       *TLS   `yaml:"tls"`       // without it, plain HTTP
	Plaintext bool   `yaml:"plaintext"` // others may come without TLS, as through a proxy that has it
	Log       Log    `yaml:"log"`
	Audit     Audit  `yaml:"audit"`

	Spaces     []Space     `yaml:"spaces"`
	Issuers    []Issuer    `yaml:"issuers"`
	Principals []Principal `yaml:"principals"`
	Rules      []Rule      `yaml:"rules"`
}

// Guarded reports whether calls are checked. Without principals, everything is allowed, but from this machine alone.
func (c *Config) Guarded() bool { return len(c.Principals) > 0 }

// TLS names files in PEM.
type TLS struct {
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
	ClientCA    string `yaml:"clientCA"` // of authorities; without it, no client has a certificate
}

// A Log is what the process says of itself, on standard error.
type Log struct {
	Level string `yaml:"level"` // debug, info, warn or error; default info
}

// ParseLevel returns the level of the least important lines.
func (l Log) ParseLevel() (level slog.Level, err error) {
	err = level.UnmarshalText([]byte(cmp.Or(l.Level, "info")))
	return level, err
}

// An Audit is the log of what principals did.
type Audit struct {
	File string `yaml:"file"` // that lines are appended to; default standard error
	Mint bool   `yaml:"mint"` // a line for each call that makes IDs, too
}

// A Space has IDs, counters, or both.
type Space struct {
	Name       string `yaml:"name"`
	Kind       string `yaml:"kind"`   // randflake, snowflake or ulid
	Layout     string `yaml:"layout"` // of Snowflake IDs: the name of a preset, or a definition
	Store      string `yaml:"store"`
	StoreFile  string `yaml:"storeFile"`  // file with what store would say, which may have a password
	SecretFile string `yaml:"secretFile"` // without it, only generators can make and open IDs
	Nodes      int    `yaml:"nodes"`      // of the service's own lease; default 1
	Quota      Quota  `yaml:"quota"`

	Counters []Counter `yaml:"counters"`
}

// Kinds are the words of Space.Kind, as those of the command's --kind.
var Kinds = []string{"randflake", "snowflake", "ulid"}

// OpenLayout returns the layout of a space of Snowflake IDs, and nil for other kinds.
func (s Space) OpenLayout() (*snowflake.Layout, error) {
	if s.Kind != "snowflake" {
		return nil, nil
	}
	return snowflake.ParseLayout(s.Layout)
}

// Location returns where the store is, and "" for a space without a store.
func (s Space) Location() (string, error) {
	if s.StoreFile == "" {
		return s.Store, nil
	}
	text, err := smallfile.Read(s.StoreFile)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // without the name: by mistake it may be the URL itself, with a password
	}
	if err != nil {
		return "", fmt.Errorf("storeFile: %w", err)
	}
	location := strings.TrimSpace(string(text))
	if location == "" {
		return "", errors.New("storeFile: it is empty: want a directory, or the URL of a server")
	}
	return location, nil
}

// Defaults of quotas, where neither a rule nor a space sets them.
const (
	DefaultBatch = 10_000
	DefaultRate  = 1000.0
)

// A Quota bounds calls. A rule, or a space, with 0 leaves a bound to the other one.
type Quota struct {
	Nodes int     `yaml:"nodes"` // of a lease; without one, as many as the space has
	Batch uint64  `yaml:"batch"` // IDs or numbers of a call; without one, DefaultBatch
	Rate  float64 `yaml:"rate"`  // calls a second of a principal in a space, in each process; without one, DefaultRate
}

// A Counter is made at its first use. What it is must never change.
type Counter struct {
	// Name is a counter's, or a pattern: orders/* for all names that begin so, or * for all other names.
	Name string `yaml:"name"`

	Start int64 `yaml:"start"` // default 1
	Step  int64 `yaml:"step"`  // default 1
	Last  int64 `yaml:"last"`  // default the largest int64

	// Periods is day, week, month, quarter, year, or fiscal-year-04. With each period the
	// counter begins at Start again.
	Periods string `yaml:"periods"`

	Zone   string `yaml:"zone"`   // in which periods begin, such as Europe/Berlin; default UTC
	Series string `yaml:"series"` // of package numbers that has the counter: its errors say what that is
}

// UnmarshalYAML sets the defaults first, so that a 0 in the file is one.
func (c *Counter) UnmarshalYAML(unmarshal func(any) error) error {
	type counter Counter // without this method
	*c = Counter{Start: 1, Step: 1, Last: math.MaxInt64}
	return unmarshal((*counter)(c))
}

// PeriodAt returns the period of the counter that contains t, or the zero Period if the counter has no periods.
func (c Counter) PeriodAt(t time.Time) (lease.Period, error) {
	if c.Periods == "" {
		return lease.Period{}, nil
	}
	periods, err := numbers.ParsePeriods(c.Periods)
	if err != nil {
		return lease.Period{}, err
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return lease.Period{}, err
	}
	return periods.At(t, zone), nil
}

// Counter returns what the space has for a counter: by its name, or else by the longest pattern
// that the name matches.
func (s Space) Counter(name string) (found Counter, ok bool) {
	for _, c := range s.Counters {
		prefix, isPattern := strings.CutSuffix(c.Name, "*")
		if c.Name == name {
			return c, !isPattern // the name of a pattern is not that of a counter
		}
		matches := isPattern && strings.HasPrefix(name, prefix) && len(name) > len(prefix)
		if matches && len(c.Name) > len(found.Name) {
			found, ok = c, true
		}
	}
	return found, ok
}

// An Issuer signs tokens, as a Kubernetes cluster does for its service accounts.
type Issuer struct {
	Issuer    string `yaml:"issuer"`
	Audience  string `yaml:"audience"`
	JWKS      string `yaml:"jwks"`      // file or https URL of its keys; default what Issuer, a URL, names
	CA        string `yaml:"ca"`        // file of authorities for that URL; default the system's
	TokenFile string `yaml:"tokenFile"` // file of a token to show there
}

// A Principal is who calls. It shows who it is by a certificate, a token of its own, or one that an issuer signed.
type Principal struct {
	Name         string       `yaml:"name"`
	Certificates Certificates `yaml:"certificates"`
	TokenHashes  []string     `yaml:"tokenHashes"` // SHA-256 of bearer tokens, from randflaked token
	Tokens       []Token      `yaml:"tokens"`      // that issuers sign
}

// Certificates are the names that a principal's certificates may have, by kind of name.
type Certificates struct {
	DNS []string `yaml:"dns"`
	URI []string `yaml:"uri"`
}

func (c Certificates) none() bool { return len(c.DNS) == 0 && len(c.URI) == 0 }

// Names of callers that no principal may have.
const (
	Self   = "randflaked" // the service, which takes leases for itself
	Anyone = "anyone"     // everybody, without principals
)

// A Token says whose tokens of an issuer are meant. The subject of a service account is one such as
// system:serviceaccount:shop:billing.
type Token struct {
	Issuer  string `yaml:"issuer"`
	Subject string `yaml:"subject"`
}

// A Rule lets principals do things in spaces. An asterisk alone stands for all principals, or all spaces.
type Rule struct {
	Principals []string `yaml:"principals"`
	Spaces     []string `yaml:"spaces"`
	Verbs      []string `yaml:"verbs"`
	Quota      Quota    `yaml:"quota"`
}

// Verbs are what rules may allow.
var Verbs = []string{"lease", "list", "mint", "inspect", "count", "set", "observe"}

// quoted is how errors of package yaml show values and anchors. These may be secret, and have quotes in them.
var quoted = regexp.MustCompile("[`'].*[`']")

// Read reads a file.
func Read(file string) (*Config, error) {
	data, err := smallfile.Read(file)
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
	err := decoder.Decode(c)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %s is empty: want spaces at least", file)
	}
	if err != nil {
		return nil, fmt.Errorf("config: %s: %s", file, quoted.ReplaceAllString(err.Error(), "what is there"))
	}
	if err := decoder.Decode(new(Config)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: %s: more than one document: want one", file)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, err // never: it was decoded
	}
	k := checker{file: file}
	k.wholeNumbers(&root)
	k.check(c)
	return c, errors.Join(k.problems...)
}

// Check returns all that is wrong with the configuration. file is its name, for errors.
func (c *Config) Check(file string) error {
	k := checker{file: file}
	k.check(c)
	return errors.Join(k.problems...)
}
