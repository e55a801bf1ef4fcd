package storetest_test

import "testing"

func TestMinimalEngine(t *testing.T) { testEngine(t) }
