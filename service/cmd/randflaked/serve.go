package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/randflake/randflake/internal/redact"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/service/internal/config"
)

// serve runs the service until a signal ends it.
func serve(args []string, stderr io.Writer) error {
	read, isDev, err := parseServe(args, stderr)
	if err != nil {
		return err
	}
	if err := tuneMemory(); err != nil {
		return err
	}
	d := &daemon{
		read:   read,
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
	if isDev {
		call := `curl --json '{"space":"demo","count":5}' ` + d.url + "/randflake.v1.IDService/Mint"
		fmt.Fprintf(stderr, "try: %s\nlook: %s\n", call, d.url)
	}
	return d.run(stop, reload)
}

// parseServe returns a function that reads the configuration that the arguments name, and whether
// that is the one of --dev.
func parseServe(
	args []string,
	stderr io.Writer,
) (read func() (*config.Config, error), isDev bool, err error) {
	set := flags("--dev | --config FILE | check | ready | token | version", stderr)
	dev := set.Bool("dev", false, "serve a space \"demo\" on this machine, kept in a directory of this user's")
	dir := set.String("dir", "", "`DIR` of --dev (default one for the user's state)")
	file := set.String("config", "", "`FILE` that says what to serve, read again at SIGHUP")
	listen := set.String("listen", "", "`ADDRESS` to listen at with --dev, of this machine (default localhost:8080)")
	if err := parse(set, args, 1); err != nil {
		return nil, false, err
	}
	if set.NArg() > 0 {
		set.Usage()
		return nil, false, usageError(fmt.Sprintf("unknown command %q", set.Arg(0)))
	}
	hasFile := *file != ""
	hasDevFlags := *dir != "" || *listen != ""
	switch {
	case *dev && !hasFile:
		return func() (*config.Config, error) { return demo(*dir, *listen) }, true, nil
	case hasFile && !*dev && !hasDevFlags:
		return func() (*config.Config, error) { return config.Read(*file) }, false, nil
	}
	set.Usage()
	return nil, false, usageError("want either --dev, alone or with --dir and --listen, or --config FILE alone")
}

// tuneMemory sets when the process collects garbage, unless the variables of Go's runtime do.
func tuneMemory() error {
	if os.Getenv("GOGC") == "" {
		// So little memory is in use that by default, collections would take a quarter of the processor's time.
		debug.SetGCPercent(350)
	}
	text := os.Getenv("RANDFLAKED_MEMORY")
	if text == "" {
		return nil
	}
	memory, err := strconv.ParseUint(text, 10, 63)
	if err != nil || memory == 0 {
		return fmt.Errorf("RANDFLAKED_MEMORY=%.40q: want bytes in digits, as Kubernetes says them; "+
			"GOMEMLIMIT may be such as 460MiB", text)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(memory / 10 * 9)) // the rest is for what Go does not count
	}
	return nil
}

// redacted takes the passwords of URLs out of errors in the log.
func redacted(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "error" {
		a.Value = slog.StringValue(redact.Passwords(a.Value.String()))
	}
	return a
}

// demo returns the configuration of --dev. It makes the directory at its first use, with a new secret.
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
			Store:      "file:" + dir + "?space=default", // as dir may have a ? in it
			SecretFile: filepath.Join(dir, "secret"),
			Quota:      config.Quota{Batch: 65536, Rate: 1_000_000},
			Counters:   []config.Counter{{Name: "*", Start: 1, Step: 1, Last: math.MaxInt64}},
		}},
	}
	return c, c.Check("--dev")
}
