package client_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/randflake/randflake/internal/test/require"
	_ "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// TestProtocol: what the first release had, as its clients and services use it, is there and
// unchanged.
func TestProtocol(t *testing.T) {
	released, err := os.ReadFile("testdata/protocol.txt")
	require.NoError(t, err)
	protocol := protocolLines()
	for line := range strings.Lines(string(released)) {
		require.That(t, slices.Contains(protocol, strings.TrimSuffix(line, "\n")), "the protocol has no %s", line)
	}
	if t.Failed() {
		t.Logf("it has:\n%s", strings.Join(protocol, "\n"))
	}
}

// protocolLines has a line for each field and each procedure.
func protocolLines() (lines []string) {
	protoregistry.GlobalFiles.RangeFilesByPackage("randflake.v1", func(file protoreflect.FileDescriptor) bool {
		lines = append(lines, fieldsOf(file.Messages())...)
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for k := range methods.Len() {
				m := methods.Get(k)
				lines = append(lines, fmt.Sprintf("%s: %s to %s", m.FullName(), m.Input().Name(), m.Output().Name()))
			}
		}
		return true
	})
	slices.Sort(lines)
	return lines
}

func fieldsOf(messages protoreflect.MessageDescriptors) (lines []string) {
	for i := range messages.Len() {
		message := messages.Get(i)
		for k := range message.Fields().Len() {
			f := message.Fields().Get(k)
			lines = append(lines, fmt.Sprintf("%s = %d: %s %s", f.FullName(), f.Number(), f.Cardinality(), f.Kind()))
		}
		lines = append(lines, fieldsOf(message.Messages())...)
	}
	return lines
}
