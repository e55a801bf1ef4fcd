package promises

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// source reads a file of the project, or what the go command's flag -overlay has in its place, as lab/planted says.
func source(t *testing.T, file string) []byte {
	path, err := filepath.Abs(filepath.Join(root, file))
	require.NoError(t, err)
	for flag := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
		list, found := strings.CutPrefix(flag, "-overlay=")
		if !found {
			continue
		}
		var overlay struct{ Replace map[string]string }
		data, err := os.ReadFile(list)
		require.NoError(t, errors.Join(err, json.Unmarshal(data, &overlay)))
		if other := overlay.Replace[path]; other != "" {
			path = other
		}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// sources are the Go files of libraries and programs.
func sources(t *testing.T) []string {
	files, err := command("git", "ls-files", "*.go", ":!*_test.go", ":!lab/*", ":!internal/*").Output()
	require.NoError(t, err)
	return strings.Fields(string(files))
}

func parse(t *testing.T, file string) *ast.File {
	syntax, err := parser.ParseFile(token.NewFileSet(), file, source(t, file), parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	return syntax
}

// literals returns the strings in a Go file.
func literals(t *testing.T, file string) (all []string) {
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			all = append(all, text)
		}
		return true
	})
	return all
}

// comments returns the comments of a Go file as one line.
func comments(t *testing.T, file string) string {
	var all []string
	for _, comment := range parse(t, file).Comments {
		all = append(all, strings.Fields(comment.Text())...)
	}
	return strings.Join(all, " ")
}
