package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopped is the cause of a context that ended because a signal told the process to stop.
type stopped struct{ os.Signal }

func (s stopped) Error() string { return s.String() + " signal received" }

// unlessStopped runs work. The first signal to stop ends the context of work, and is noted, so that
// the process ends by that signal afterwards. A second signal ends the process at once.
func (t *tool) unlessStopped(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			cancel(stopped{s})
		case <-ctx.Done():
		}
		signal.Stop(signals)
	}()
	err := work(ctx)
	if signal, ok := errors.AsType[stopped](context.Cause(ctx)); ok {
		t.stoppedBy = signal.Signal
	}
	return err
}

// dieBy ends the process by the signal that stopped it, if the system can: a loop in a shell
// continues after ^C unless the command was killed by the signal.
func dieBy(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(time.Second) // it may reach another thread first
	}
}
