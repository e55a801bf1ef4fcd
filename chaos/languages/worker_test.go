package languages

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/chaos/internal/clock"
	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
)

// work is what a worker in Go does: as testdata/worker.py and worker.mjs do.
func work() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := heed(os.Getenv("FAKETIME_TIMESTAMP_FILE")); err != nil {
		return err
	}
	dir := os.Getenv("JOURNAL")
	notes, err := journal.Create(dir, os.Getenv("NAME"))
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, "ids"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	keeper := keep(ctx, notes)
	if keeper == nil {
		return notes.Close()
	}
	buffer, ids, refused := []byte(nil), make([]randflake.ID, 50), ""
	for ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
		n, err := keeper.Generator().Fill(ids)
		if n > 0 {
			buffer = binary.LittleEndian.AppendUint64(buffer[:0], uint64(journal.Now()))
			buffer = binary.LittleEndian.AppendUint64(buffer, uint64(n))
			for _, id := range ids[:n] {
				buffer = binary.LittleEndian.AppendUint64(buffer, uint64(id))
			}
			if _, err := out.Write(buffer); err != nil {
				return err
			}
		}
		if again := fmt.Sprint(err); err != nil && again != refused {
			notes.Note("refused: " + again)
		}
		refused = fmt.Sprint(err)
	}
	if err := keeper.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return notes.Close()
}

// keep returns a keeper, once there is one, or nil when the worker is told to stop before.
func keep(ctx context.Context, notes *journal.Writer) *lease.Keeper[*randflake.Generator] {
	secret, err := randflake.ParseSecret(os.Getenv("SECRET"))
	if err != nil {
		panic(err)
	}
	service, err := client.New("life", strings.Fields(os.Getenv("ADDRESSES")), client.WithToken(os.Getenv("TOKEN")))
	if err != nil {
		panic(err)
	}
	number := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			panic(err)
		}
		return n
	}
	options := []lease.Option{lease.WithNodes(number("NODES")), lease.WithTTL(time.Duration(number("TTL")) * time.Second), lease.WithLogger(slog.New(slog.DiscardHandler))}
	for ctx.Err() == nil {
		keeper, err := lease.Keep(ctx, journal.Store(service, notes), secret, options...)
		if err == nil {
			return keeper
		}
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// heed makes the clock of this process that of a file, as libfaketime does for programs that ask the C library.
func heed(file string) error {
	var offset atomic.Int64
	read := func() {
		if text, err := os.ReadFile(file); err == nil {
			if seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				offset.Store(seconds)
			}
		}
	}
	read()
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			read()
		}
	}()
	return clock.Shift(&offset)
}
