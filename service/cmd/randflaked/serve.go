package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/internal/config"
)

// serve runs the service until a signal ends it.
func serve(args []string, stderr io.Writer) error {
	from, err := parseServe(args, stderr)
	if err != nil {
		return err
	}
	if err := tuneMemory(); err != nil {
		return err
	}
	d := &daemon{
		read:   from.read,
		stderr: stderr,
		limits: usual,
	}
	options := &slog.HandlerOptions{Level: &d.level, ReplaceAttr: redacted}
	d.logger = slog.New(slog.NewJSONHandler(stderr, options))
	stop := make(chan os.Signal, 1)
	reload := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	signal.Notify(reload, syscall.SIGHUP)
	if err := d.start(); err != nil {
		return err
	}
	if from.dev {
		fmt.Fprintf(stderr, "try: curl --json '%s' %s/randflake.v1.IDService/Mint\nlook: %[2]s\n",
			`{"space":"demo","count":5}`, d.url)
	}
	return d.run(stop, reload)
}

// A source says where the configuration is: in a file, or with dev in this program.
type source struct {
	file        string
	dev         bool
	dir, listen string // with dev alone
}

func (s source) read() (*config.Config, error) {
	if s.dev {
		return demo(s.dir, s.listen)
	}
	return config.Read(s.file)
}

// parseServe returns what the arguments say.
func parseServe(args []string, stderr io.Writer) (s source, err error) {
	set := flags("--dev | --config FILE | check | ready | token | version", stderr)
	set.BoolVar(&s.dev, "dev", false,
		"serve a space \"demo\" on this machine, kept in a directory of this user's")
	set.StringVar(&s.dir, "dir", "", "`directory` of --dev (default one for the user's state)")
	set.StringVar(&s.file, "config", "", "`file` that says what to serve, read again at SIGHUP")
	set.StringVar(&s.listen, "listen", "",
		"`address` to listen at with --dev, of this machine (default localhost:8080)")
	if err := set.Parse(args); err != nil {
		return s, err
	}
	if set.NArg() > 0 {
		set.Usage()
		return s, fmt.Errorf("unknown command %q", set.Arg(0))
	}
	hasFile := s.file != ""
	hasOne := s.dev != hasFile
	hasDevFlags := s.dir != "" || s.listen != ""
	if !hasOne || hasFile && hasDevFlags {
		set.Usage()
		return s, errors.New("want either --dev, alone or with --dir and --listen, " +
			"or --config FILE alone")
	}
	return s, nil
}

// tuneMemory sets how often the process collects garbage, unless the variables of Go's runtime do.
func tuneMemory() error {
	if os.Getenv("GOGC") == "" {
		// By default, collections would take a quarter of the processor's time, as little memory is
		// in use.
		debug.SetGCPercent(350)
	}
	text := os.Getenv("RANDFLAKED_MEMORY")
	if text == "" {
		return nil
	}
	memory, err := strconv.ParseInt(text, 10, 64)
	if err != nil || memory <= 0 {
		return fmt.Errorf("RANDFLAKED_MEMORY=%.40q: want bytes, such as 536870912 for 512 MiB", text)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 10 * 9) // the rest is for what Go does not count
	}
	return nil
}

// redacted takes the passwords of URLs out of errors in the log.
func redacted(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "error" {
		a.Value = slog.StringValue(url.Redact(a.Value.String()))
	}
	return a
}

// demo returns the configuration of --dev. It makes the directory at its first use, with a new
// secret.
func demo(dir, listen string) (*config.Config, error) {
	if dir == "" {
		state, err := local.Dir("randflaked")
		if err != nil {
			return nil, err
		}
		dir = state
	}
	if _, err := local.Create(dir); err != nil {
		return nil, err
	}
	c := &config.Config{
		Listen: cmp.Or(listen, "localhost:8080"),
		Spaces: []config.Space{{
			Name:       "demo",
			Kind:       "randflake",
			Store:      "file:" + dir,
			SecretFile: filepath.Join(dir, "secret"),
			Limits:     config.Limits{Batch: 65536, Rate: 1_000_000},
			Counters:   []config.Counter{{Name: "*"}},
		}},
	}
	return c, c.Check("--dev")
}
