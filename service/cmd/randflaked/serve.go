package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/server"
)

// Limits on connections, so that slow or numerous clients can't hold up others, and times.
type bounds struct {
	connections               int
	header, read, write, idle time.Duration // for how long a client is waited for
	age                       time.Duration // after which a connection takes no more calls, or a tenth later
	leave                     time.Duration // in which clients learn of SIGTERM and connect elsewhere
	drain                     time.Duration // with calls that are under way at the end
	renewal                   time.Duration // of files, which are read again after each
}

var usual = bounds{connections: 4096, header: 5 * time.Second, read: 15 * time.Second, write: 30 * time.Second, idle: 2 * time.Minute, age: 15 * time.Minute,
	leave: 3 * time.Second, drain: 3 * time.Second, renewal: time.Minute}

const (
	maxStreams  = 100 // calls at a time on one connection
	maxHeader   = 16 << 10
	maxReceived = 64 << 10 // bytes of bodies that a connection may send ahead
	pingTime    = 15 * time.Second
	closeTime   = 3 * time.Second // with leave and drain, of the ten that an orchestrator waits as a rule
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
	d := &daemon{read: read, problems: problems, bounds: usual}
	d.logger = slog.New(slog.NewJSONHandler(problems, &slog.HandlerOptions{Level: &d.level, ReplaceAttr: redacted}))
	stop, reload := make(chan os.Signal, 1), make(chan os.Signal, 1)
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
	text := fmt.Sprintf("listen: %q\nspaces: [{name: demo, kind: randflake, store: %q, secretFile: %q, limits: {batch: 65536, rate: 1000000}, counters: [{name: '*'}]}]\n",
		cmp.Or(listen, "localhost:8080"), "file:"+dir, filepath.Join(dir, "secret"))
	return config.Parse("--dev", []byte(text))
}

// A daemon is the running service.
type daemon struct {
	read     func() (*config.Config, error)
	logger   *slog.Logger
	level    slog.LevelVar // of logger, as the configuration says
	problems io.Writer
	bounds   bounds

	config   *config.Config // in force
	url      string         // by which the service can be called
	server   *server.Server
	listener net.Listener
	http     *http.Server
	probes   *http.Server // nil without
	failed   chan error   // what ended the HTTP server
}

// start listens, and begins to open the spaces. If it fails, the process has to end.
func (d *daemon) start() (err error) {
	if d.config, err = d.read(); err != nil {
		return err
	}
	d.server = server.New(url.Open, d.logger)
	if d.listener, err = net.Listen("tcp", d.config.Listen); err != nil {
		return err
	}
	if d.config.Probes != "" {
		probes, err := net.Listen("tcp", d.config.Probes)
		if err != nil {
			return err
		}
		d.probes = &http.Server{Addr: probes.Addr().String(), Handler: d.server.Probes(), ReadTimeout: d.bounds.header, WriteTimeout: d.bounds.header, IdleTimeout: d.bounds.header, MaxHeaderBytes: maxHeader, ConnState: newGate(64, func(float64) {}).note}
		go d.probes.Serve(probes)
	}
	d.url = "http://" + d.listener.Addr().String()
	if d.config.TLS != nil {
		d.url = strings.Replace(d.url, "http", "https", 1)
		d.listener = tls.NewListener(d.listener, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.server.TLS(), nil }})
	}
	if err := d.apply(d.config); err != nil {
		return err
	}
	d.http = d.newHTTP()
	d.failed = make(chan error, 1)
	go func() { d.failed <- d.http.Serve(d.listener) }()
	d.logger.Info("listening", "url", d.url)
	return nil
}

// newHTTP returns a server for HTTP/1.1 and for HTTP/2, which gRPC uses without TLS too.
func (d *daemon) newHTTP() *http.Server {
	b := d.bounds
	s := &http.Server{
		Handler:           d.server.Handler(),
		ReadHeaderTimeout: b.header, ReadTimeout: b.read, WriteTimeout: b.write, IdleTimeout: b.idle,
		MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxReceived, MaxReceiveBufferPerStream: maxReceived,
			SendPingTimeout: pingTime, WriteByteTimeout: b.write}, // of a peer that is gone, and one that does not read
		Protocols: new(http.Protocols),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return server.Aging(ctx, time.Now().Add(b.age+rand.N(b.age/10+1)))
		},
		ConnState: newGate(b.connections, d.server.Metrics.Connections.Set).note,
		ErrorLog:  slog.NewLogLogger(d.logger.Handler(), slog.LevelDebug), // TLS handshakes that failed, which strangers can cause at will
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// tell notifies systemd of a change, if systemd asked for that.
func (d *daemon) tell(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.logger.Warn("systemd was not told", "error", err)
	}
}

// run serves until a signal ends it.
func (d *daemon) run(stop, reload <-chan os.Signal) error {
	d.tell(systemd.SdNotifyReady)
	renewal := time.NewTicker(d.bounds.renewal)
	defer renewal.Stop()
	for {
		select {
		case <-renewal.C:
			// In a pod, the program that renews the certificate can't send a signal.
			if err := d.apply(d.config); err != nil {
				d.logger.Error("certificates and other files were not read again; those from before stay in use", "error", err)
			}
		case <-reload:
			d.tell(systemd.SdNotifyReloading)
			if err := d.reload(); err != nil {
				d.logger.Error("configuration was not read again; the one from before stays in force", "error", err)
			} else {
				d.logger.Info("configuration was read again")
			}
			d.tell(systemd.SdNotifyReady)
		case err := <-d.failed:
			d.close()
			return err
		case signal := <-stop:
			return d.shutdown(signal)
		}
	}
}

// reload reads the configuration again and applies it.
func (d *daemon) reload() error {
	next, err := d.read()
	if err != nil {
		return err
	}
	if next.Listen != d.config.Listen || next.Probes != d.config.Probes || (next.TLS == nil) != (d.config.TLS == nil) {
		return errors.New("listen, probes, and whether there is TLS, can't change while the service runs: restart it")
	}
	return d.apply(next)
}

// apply puts a configuration into force, with all the files that it names, or changes nothing.
func (d *daemon) apply(next *config.Config) error {
	files, err := load(next, d.problems)
	if err != nil {
		return err
	}
	if err := d.server.Configure(next, files); err != nil {
		files.Close()
		return err
	}
	d.level.Set(next.Level)
	d.config = next
	return nil
}

// shutdown waits for calls to end, gives everything back, and returns within ten seconds. After SIGTERM, which
// orchestrators send, it first serves for a while as one that is not ready.
func (d *daemon) shutdown(signal os.Signal) error {
	d.tell(systemd.SdNotifyStopping)
	d.server.Drain()
	if signal == syscall.SIGTERM {
		time.Sleep(d.bounds.leave)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.bounds.drain)
	defer cancel()
	if err := d.http.Shutdown(ctx); err != nil {
		d.logger.Warn("connections that did not end in time were cut off")
		d.http.Close()
	}
	return d.close()
}

func (d *daemon) close() error {
	if d.probes != nil {
		d.probes.Close()
	}
	late, done := time.After(closeTime), make(chan struct{})
	go func() {
		defer close(done)
		d.server.Close()
	}()
	select {
	case <-done:
		d.logger.Info("stopped")
		return nil
	case <-late:
		return errors.New("a store does not answer")
	}
}

// A gate lets so many connections be open at a time. When there are more, the one goes that has been idle longest, which is the new
// one if all others are in use.
type gate struct {
	most  int
	count func(float64) // is told how many are open

	mu   sync.Mutex
	open map[net.Conn]time.Time // since when each is idle; zero for those that are not
}

func newGate(most int, count func(float64)) *gate {
	return &gate{most: most, count: count, open: map[net.Conn]time.Time{}}
}

// note is for http.Server.ConnState.
func (g *gate) note(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.open[conn] // or it has to go
	switch {
	case state == http.StateNew, known && state == http.StateIdle:
		g.open[conn] = time.Now()
	case known && state == http.StateActive:
		g.open[conn] = time.Time{}
	case state == http.StateClosed || state == http.StateHijacked:
		delete(g.open, conn)
	}
	if len(g.open) > g.most {
		var oldest net.Conn
		for c, since := range g.open {
			if !since.IsZero() && (oldest == nil || since.Before(g.open[oldest])) {
				oldest = c
			}
		}
		delete(g.open, oldest)
		go oldest.Close() // which takes a while with TLS
	}
	g.count(float64(len(g.open)))
}
