package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/audit"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/metrics"
	"github.com/randflake/randflake/service/internal/server"
	"github.com/randflake/randflake/snowflake"
)

// check validates a configuration, with the files and stores that it names.
func check(args []string, out, problems io.Writer) error {
	set := flags("check --config FILE [--offline]", problems)
	file := set.String("config", "", "`file` to read")
	offline := set.Bool("offline", false, "only the file itself: what it names need not be on this machine")
	if err := parse(set, args); err != nil {
		return err
	}
	if *file == "" {
		return errors.New("check: which file? say --config FILE")
	}
	c, err := config.Read(*file)
	if err == nil && !*offline {
		err = probe(c)
	}
	if err == nil {
		fmt.Fprintln(out, "ok")
	}
	return err
}

// probe reads and opens what a configuration names. It changes nothing.
func probe(c *config.Config) error {
	problems := []error{c.Probe(context.Background())}
	if c.TLS != nil {
		_, err := certificates(*c.TLS)
		problems = append(problems, err)
	}
	if _, err := os.Stat(filepath.Dir(c.Audit)); c.Audit != "" && err != nil {
		problems = append(problems, fmt.Errorf("audit: the directory: %w", err))
	}
	_, err := access.New(c, nil, &access.Policy{}, slog.New(slog.DiscardHandler))
	return errors.Join(append(problems, err)...)
}

// ready asks a service whether it is ready, again and again with a timeout.
func ready(args []string, out, problems io.Writer) error {
	set := flags("ready [--timeout DURATION] [--insecure] URL", problems)
	timeout := set.Duration("timeout", 0, "how long to ask again, if the service is not ready (default once)")
	insecure := set.Bool("insecure", false, "whatever certificate the service has, as Kubernetes' probes do")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return errors.New("ready: which service? want one URL, such as http://localhost:8080")
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: *insecure}}}
	for end := time.Now().Add(*timeout); ; time.Sleep(min(time.Second, time.Until(end))) {
		answer, err := client.Get(strings.TrimSuffix(set.Arg(0), "/") + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(answer.Status)
		}
		if !time.Now().Before(end) {
			return fmt.Errorf("ready: %w", err)
		}
	}
}

// version prints the version and the platform.
func version(args []string, out, problems io.Writer) error {
	if err := parse(flags("version", problems), args); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "randflaked %s %s %s/%s\n", metrics.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// token makes a token of 256 random bits. The configuration gets the hash, and its bearer the token.
func token(args []string, out, problems io.Writer) error {
	if err := parse(flags("token", problems), args); err != nil {
		return err
	}
	var bits [32]byte
	rand.Read(bits[:]) // never fails, by its contract
	text := hex.EncodeToString(bits[:])
	_, err := fmt.Fprintf(out, "token   %s\nsha256  %x\n", text, sha256.Sum256([]byte(text)))
	return err
}

// who prints which lease made an ID, from lines of the audit log on standard input or in a file.
func who(args []string, out, problems io.Writer) error {
	set := flags("who --space NAME (--secret-file FILE | --layout KIND) [--audit FILE] ID", problems)
	space := set.String("space", "", "`name` of the ID's space")
	secretFile := set.String("secret-file", "", "`file` with the space's secret")
	kind := set.String("layout", "", "`kind` of the space, where its IDs are of a Snowflake layout")
	auditFile := set.String("audit", "", "`file` with lines of the audit log (default standard input)")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *space == "" || (*secretFile == "") == (*kind == "") || set.NArg() != 1 {
		return errors.New("who: want --space, one of --secret-file and --layout, and one ID")
	}
	node, made, err := origin(set.Arg(0), *secretFile, *kind)
	if err != nil {
		return fmt.Errorf("who: %w", err)
	}
	lines := io.Reader(os.Stdin)
	if *auditFile != "" {
		file, err := os.Open(*auditFile)
		if err != nil {
			return fmt.Errorf("who: %w", err)
		}
		defer file.Close()
		lines = file
	}
	maker, found, damaged, err := audit.Who(lines, *space, node, made.Unix())
	if err != nil {
		return err
	}
	if damaged > 0 {
		fmt.Fprintf(problems, "%d lines can't be read: if one of them was about this node, the answer is wrong\n", damaged)
	}
	if !found {
		return fmt.Errorf("who: nobody had node %d at %s, by these lines: are they all, and is it the right secret or layout?", node, made.Format(time.RFC3339))
	}
	_, err = fmt.Fprintf(out, "%s  made at %s on node %d, by lease %s of nodes %d to %d from %s on\n", maker.Principal,
		made.Format(time.RFC3339), node, maker.Lease, maker.FirstNode, maker.LastNode, maker.Granted.Format(time.RFC3339))
	return err
}

// origin returns the node that made an ID, and when, by the space's secret or its layout.
func origin(text, secretFile, kind string) (node uint32, made time.Time, err error) {
	if kind != "" {
		layout, err := config.Space{Kind: kind}.Layout()
		if err != nil || layout == nil {
			return 0, made, fmt.Errorf("layout %q: want one of Snowflake IDs, such as twitter", kind)
		}
		id, err := snowflake.Parse(text)
		if err != nil {
			return 0, made, err
		}
		f, err := layout.Inspect(id)
		return uint32(server.Worker(layout, f)), f.Time, err
	}
	id, err := randflake.Parse(text)
	if err != nil {
		return 0, made, err
	}
	secret, err := local.ReadSecret(secretFile)
	if err != nil {
		return 0, made, err
	}
	f := randflake.NewCipher(secret).Inspect(id)
	return f.Node, f.Time, nil
}
