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
func serve(args []string, problems io.Writer) error {
	set := flags("--dev | --config FILE | check | ready | token | version", problems)
	dev := set.Bool("dev", false, "serve a space \"demo\" on this machine, kept in a directory of this user's")
	dir := set.String("dir", "", "`directory` of --dev (default one for the user's state)")
	file := set.String("config", "", "`file` that says what to serve, read again at SIGHUP")
	listen := set.String("listen", "", "`address` to listen at with --dev, of this machine (default localhost:8080)")
	if err := set.Parse(args); err != nil {
		return err
	}
	switch {
	case set.NArg() > 0:
		set.Usage()
		return fmt.Errorf("unknown command %q", set.Arg(0))
	case *dev == (*file != ""), !*dev && (*dir != "" || *listen != ""):
		set.Usage()
		return errors.New("want either --dev, alone or with --dir and --listen, or --config FILE alone")
	}
	read := func() (*config.Config, error) { return config.Read(*file) }
	if *dev {
		read = func() (*config.Config, error) { return demo(*dir, *listen) }
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(350) // so little is in use that collections would take a quarter of the processor's time
	}
	if memory, err := strconv.ParseInt(os.Getenv("RANDFLAKED_MEMORY"), 10, 64); err == nil && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 10 * 9) // bytes; the rest is for what Go does not count
	}
	d := &daemon{
		read:     read,
		problems: problems,
		limits:   usual,
	}
	d.logger = slog.New(slog.NewJSONHandler(problems, &slog.HandlerOptions{Level: &d.level, ReplaceAttr: redacted}))
	stop := make(chan os.Signal, 1)
	reload := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	signal.Notify(reload, syscall.SIGHUP)
	if err := d.start(); err != nil {
		return err
	}
	if *dev {
		fmt.Fprintf(problems, "try: curl --json '{\"space\":\"demo\",\"count\":5}' %s/randflake.v1.IDService/Mint\nlook: %[1]s\n", d.url)
	}
	return d.run(stop, reload)
}

// redacted takes the passwords of URLs out of what is logged as an error.
func redacted(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "error" {
		a.Value = slog.StringValue(url.Redact(a.Value.String()))
	}
	return a
}

// demo is the configuration of --dev: its directory is made at first use, with a new secret.
func demo(dir, listen string) (*config.Config, error) {
	if dir == "" {
		var err error
		if dir, err = local.Dir("randflaked"); err != nil {
			return nil, err
		}
	}
	if _, err := local.Create(dir); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`
listen: %q
spaces:
- name: demo
  kind: randflake
  store: %q
  secretFile: %q
  limits: {batch: 65536, rate: 1000000}
  counters: [{name: "*"}]
`, cmp.Or(listen, "localhost:8080"), "file:"+dir, filepath.Join(dir, "secret"))
	return config.Parse("--dev", []byte(text))
}
