package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/server"
)

// closeTime is how long close waits for stores. With leave and drain it is less than the ten seconds
// that most orchestrators wait before they kill a process.
const closeTime = 3 * time.Second

// A daemon is the running service, from its first listener to its end.
type daemon struct {
	read   func() (*config.Config, error)
	logger *slog.Logger
	level  slog.LevelVar // of logger, as the configuration in force says
	stderr io.Writer
	limits limits

	config   *config.Config // in force
	url      string         // at which the service can be called
	server   *server.Server
	listener net.Listener
	calls    *http.Server
	probes   *http.Server // nil if probes have no listener of their own
	failed   chan error   // gets what ended the HTTP server
}

// start listens, and begins to open the spaces. If it fails, the process has to end.
func (d *daemon) start() error {
	first, err := d.read()
	if err != nil {
		return err
	}
	d.server = server.New(url.Open, d.stderr, d.logger)
	d.listener, err = net.Listen("tcp", first.Listen)
	if err != nil {
		return err
	}
	if first.Probes != "" {
		if err := d.startProbes(first.Probes); err != nil {
			return err
		}
	}
	scheme := "http://"
	if first.TLS != nil {
		scheme = "https://"
		inForce := func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.server.TLS(), nil }
		d.listener = tls.NewListener(d.listener, &tls.Config{GetConfigForClient: inForce})
	}
	d.url = scheme + d.listener.Addr().String()
	if err := d.apply(first); err != nil {
		return err
	}
	d.calls = newCallServer(d.limits, d.server, d.logger)
	d.failed = make(chan error, 1)
	go func() { d.failed <- d.calls.Serve(d.listener) }()
	d.logger.Info("listening", "url", d.url)
	return nil
}

// startProbes listens for probes, at probes.Addr: the port of address may be 0.
func (d *daemon) startProbes(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	d.probes = newProbeServer(d.limits, d.server)
	d.probes.Addr = listener.Addr().String()
	go d.probes.Serve(listener)
	return nil
}

// tell notifies systemd of a change, if systemd asked for that.
func (d *daemon) tell(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		d.logger.Warn("systemd was not told", "error", err)
	}
}

// run goes on until a signal, or a failure of the HTTP server, ends it.
func (d *daemon) run(stop, reload <-chan os.Signal) error {
	d.tell(systemd.SdNotifyReady)
	renewal := time.NewTicker(d.limits.renewal)
	defer renewal.Stop()
	for {
		select {
		case <-renewal.C:
			// In a pod, the program that renews the certificate can't send a signal.
			if err := d.apply(d.config); err != nil {
				d.logger.Error("certificates and other files were not read again; "+
					"those from before stay in use", "error", err)
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
	now := d.config
	sameAddresses := next.Listen == now.Listen && next.Probes == now.Probes
	sameTLS := (next.TLS == nil) == (now.TLS == nil)
	if !sameAddresses || !sameTLS {
		return errors.New("listen, probes, and whether there is TLS, can't change while the service runs: restart it")
	}
	return d.apply(next)
}

// apply puts a configuration into force, with all the files that it names, or changes nothing.
func (d *daemon) apply(next *config.Config) error {
	if err := d.server.Configure(next); err != nil {
		return err
	}
	level, _ := next.Log.ParseLevel() // it was checked
	d.level.Set(level)
	d.config = next
	return nil
}

// shutdown waits for calls to end, gives everything back, and returns within ten seconds. After SIGTERM, which
// orchestrators send, the service first goes on for d.limits.leave, and reports that it is not ready.
func (d *daemon) shutdown(signal os.Signal) error {
	d.tell(systemd.SdNotifyStopping)
	d.server.Drain()
	if signal == syscall.SIGTERM {
		d.limits.wait(d.limits.leave)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.limits.drain)
	defer cancel()
	if err := d.calls.Shutdown(ctx); err != nil {
		d.logger.Warn("connections that did not end in time were cut off")
		d.calls.Close()
	}
	return d.close()
}

// close closes the spaces, and gives up on them after closeTime.
func (d *daemon) close() error {
	if d.probes != nil {
		d.probes.Close()
	}
	late := time.After(closeTime)
	done := make(chan struct{})
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
