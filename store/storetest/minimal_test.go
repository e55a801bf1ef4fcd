package storetest_test

import (
	"testing"

	"github.com/randflake/randflake/lease/leasetest"
)

func TestMinimalEngine(t *testing.T) { testEngine(t) }

// TestMinimalEngineKeepsLeases: what stands on engines needs no more than the contract.
func TestMinimalEngineKeepsLeases(t *testing.T) { leasetest.Run(t, leasetest.OnEngine(startMinimal)) }
