// Command orders is a small HTTP service to copy from: its table has Snowflake IDs as primary keys, so
// that new rows go to the table's end, and nobody outside ever sees one. URLs, JSON, headers, cursors,
// errors and logs show the masked form, which tells neither when an order was made nor how many there are.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	dir := flag.String("data", "data", "directory for the database, the leases and, unless ORDERS_SECRET is set, the secret")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *dir); err != nil {
		slog.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx is done, and then finishes what it has begun.
func run(ctx context.Context, addr, dir string) error {
	shop, err := open(ctx, dir, slog.Default())
	if err != nil {
		return err
	}
	defer shop.close()
	server := &http.Server{Addr: addr, Handler: shop.handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() { stopped <- server.Shutdown(context.Background()) })
	slog.Info("serving", "url", "http://"+addr+"/orders")
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
