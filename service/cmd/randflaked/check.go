package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// check validates a configuration, with the files and stores that it names.
func check(args []string, out, stderr io.Writer) error {
	set := flags("check --config FILE [--offline]", stderr)
	file := set.String("config", "", "`FILE` to read")
	offline := set.Bool("offline", false, "only the file itself: what it names need not be on this machine")
	if err := parse(set, args, 0); err != nil {
		return err
	}
	if *file == "" {
		return usageError("check: which file? say --config FILE")
	}
	c, err := config.Read(*file)
	_, isUnread := errors.AsType[*fs.PathError](err)
	switch {
	case isUnread:
		return err
	case err == nil && !*offline:
		err = probe(c)
	}
	if err != nil {
		return noError{err}
	}
	_, err = fmt.Fprintln(out, "ok")
	return err
}

const probeTime = 10 * time.Second // for a store to answer

// probe reads and opens what a configuration names, all stores at once. It changes nothing.
func probe(c *config.Config) error {
	problems := make([]error, len(c.Spaces))
	var asking sync.WaitGroup
	for i, one := range c.Spaces {
		asking.Go(func() {
			if err := probeSpace(one); err != nil {
				problems[i] = fmt.Errorf("space %s: %w", one.Name, err)
			}
		})
	}
	asking.Wait()
	if c.Audit.File != "" {
		if _, err := os.Stat(filepath.Dir(c.Audit.File)); err != nil {
			problems = append(problems, fmt.Errorf("audit: the directory: %w", err))
		}
		if info, err := os.Stat(c.Audit.File); err == nil && info.IsDir() {
			problems = append(problems, fmt.Errorf("audit: %s is a directory: want a file", c.Audit.File))
		}
	}
	policy, err := access.New(c, &access.Policy{}, slog.New(slog.DiscardHandler)) // the errors go to the caller
	switch {
	case err != nil:
		problems = append(problems, err)
	case c.TLS != nil && time.Now().After(policy.TLS.Certificates[0].Leaf.NotAfter):
		problems = append(problems, fmt.Errorf("tls: certificate: %s has expired", c.TLS.Certificate))
	}
	return errors.Join(problems...)
}

// probeSpace returns why a space can't be opened.
func probeSpace(c config.Space) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	err := space.CheckOpens(ctx, c, url.Open)
	if errors.Is(err, lease.ErrNoSpace) {
		return fmt.Errorf("%w; correct the name, or create it with randflake store init", err)
	}
	return err
}
