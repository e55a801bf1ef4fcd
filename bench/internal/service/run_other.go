//go:build !linux

package service

import (
	"context"
	"errors"

	"github.com/randflake/randflake/bench/internal/report"
)

func run(context.Context, *report.Results) error {
	return errors.New("servers are started on Linux alone: leave this chapter out, by -only")
}
