package promises

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"gopkg.in/yaml.v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
	_ "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
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

// variables are the strings of the programs and libraries that are nothing but the name of one.
func variables(t *testing.T) (lines []string) {
	name := regexp.MustCompile(`^RANDFLAKED?(_[A-Z]+)+$`)
	for _, file := range sources(t) {
		for _, text := range literals(t, file) {
			if name.MatchString(text) {
				lines = append(lines, text+": variable")
			}
		}
	}
	return append(lines, "RANDFLAKED_MEMORY, sizes: "+strings.Join(sizes(t), ", "))
}

// sizes are the forms of a size that randflaked takes for its memory.
func sizes(t *testing.T) (taken []string) {
	for _, size := range []string{"1", "1B", "1K", "1KB", "1Ki", "1KiB", "1M", "1MB", "1Mi", "1MiB", "1GiB", "1TiB", "1e9", "off"} {
		c := exec.Command(daemon(t), "--config", "nosuch")
		c.Env = []string{"RANDFLAKED_MEMORY=" + size}
		out, _ := c.CombinedOutput() // in any case there is no such file
		if !strings.Contains(string(out), "RANDFLAKED_MEMORY") {
			taken = append(taken, size)
		}
	}
	return taken
}

// configKeys has the keys of randflaked.yaml, by the struct into which it is decoded.
func configKeys(t *testing.T) []string {
	all, err := loaded()
	require.NoError(t, err)
	p := all[module+"/service/internal/config"]
	require.Must(t, p != nil, "there is no package config")
	return keysOf("", p.Scope().Lookup("Config").Type(), configDefaults(t, p))
}

// configDefaults has, by the names of their fields, what the comments of config.go say of keys that are left out.
func configDefaults(t *testing.T, p *types.Package) map[string]string {
	said := regexp.MustCompile(`\b(?:default|without (?:it|one|this),) ([^;\n]+)`)
	constant := regexp.MustCompile(`\bDefault\w+`)
	const file = "service/internal/config/config.go"
	syntax, err := parser.ParseFile(token.NewFileSet(), file, source(t, file), parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	defaults := map[string]string{}
	ast.Inspect(syntax, func(n ast.Node) bool {
		of, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := of.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range fields.Fields.List {
			if found := said.FindStringSubmatch(field.Comment.Text()); found != nil {
				defaults[of.Name.Name+"."+field.Names[0].Name] = constant.ReplaceAllStringFunc(found[1], func(name string) string {
					return p.Scope().Lookup(name).(*types.Const).Val().String()
				})
			}
		}
		return false
	})
	return defaults
}

func keysOf(path string, t types.Type, defaults map[string]string) (lines []string) {
	switch of := t.Underlying().(type) {
	case *types.Pointer:
		return keysOf(path, of.Elem(), defaults)
	case *types.Slice:
		return keysOf(path+"[]", of.Elem(), defaults)
	case *types.Struct:
		for i := range of.NumFields() {
			key := reflect.StructTag(of.Tag(i)).Get("yaml")
			if key == "-" {
				continue
			}
			below := keysOf(strings.TrimPrefix(path+"."+key, "."), of.Field(i).Type(), defaults)
			name := t.(*types.Named).Obj().Name() + "." + of.Field(i).Name()
			if unset := defaults[name]; unset != "" && len(below) == 1 {
				below[0] += ", without it " + unset
			}
			lines = append(lines, below...)
		}
		return lines
	default:
		return []string{path + ": " + of.String()}
	}
}

// chartValues has the values of the chart, with their defaults.
func chartValues(t *testing.T) []string {
	var values yaml.Node
	require.NoError(t, yaml.Unmarshal(source(t, "service/deploy/chart/values.yaml"), &values))
	return valuesOf(t, "", values.Content[0])
}

func valuesOf(t *testing.T, path string, node *yaml.Node) (lines []string) {
	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		var value any
		require.NoError(t, node.Decode(&value))
		text, err := json.Marshal(value)
		require.NoError(t, err)
		return []string{path + ": " + string(text)}
	}
	for pair := range slices.Chunk(node.Content, 2) {
		lines = append(lines, valuesOf(t, strings.TrimPrefix(path+"."+pair[0].Value, "."), pair[1])...)
	}
	return lines
}

// parameters are those that engines take out of a URL. What is left is for their drivers, which promise it.
func parameters(t *testing.T) (lines []string) {
	const value = "=/word/"
	unset := parameterDefaults(t)
	for scheme, where := range map[string]string{
		"file":       "file:DIR?",
		"sqlite":     "sqlite:FILE?",
		"etcd":       "etcd://HOST?",
		"etcds":      "etcds://HOST?",
		"redis":      "redis://HOST?",
		"rediss":     "rediss://HOST?",
		"postgres":   "postgres://HOST/DATABASE?",
		"postgresql": "postgresql://HOST/DATABASE?",
		"mysql":      "mysql://HOST/DATABASE?",
		"mariadb":    "mariadb://HOST/DATABASE?",
		"s3":         "s3://BUCKET/PREFIX?region=REGION&",
		"kubernetes": "kubernetes:namespace/name?",
	} {
		require.Must(t, slices.Contains(url.Schemes(), scheme), "there is no %s", scheme)
		lines = append(lines, scheme+": scheme")
		_, _, refused := url.Parse(where + "nosuch" + value)
		for _, name := range append(takenParameters(t), "space") {
			_, _, err := url.Parse(where + name + value)
			isUnknown := err != nil && refused != nil && strings.ReplaceAll(refused.Error(), "nosuch", name) == err.Error()
			if !isUnknown {
				lines = append(lines, scheme+" "+name+": parameter"+unset[scheme+" "+name])
			}
		}
	}
	return lines
}

// parameterDefaults are the literals that engines take where a parameter is not there. What others default to, their names
// tell: see places.
func parameterDefaults(t *testing.T) map[string]string {
	taken := regexp.MustCompile(`cmp\.Or\(storeurl\.TakeParameter\(query, "([^"]+)"\), "([^"]+)"\)`)
	unset := map[string]string{}
	for _, file := range sources(t) {
		folder, isEngine := strings.CutPrefix(filepath.Dir(file), "lease/")
		for _, found := range taken.FindAllSubmatch(source(t, file), -1) {
			require.Must(t, isEngine, "%s takes a parameter", file)
			for _, scheme := range []string{folder, folder + "s"} { // with TLS
				unset[fmt.Sprintf("%s %s", scheme, found[1])] = fmt.Sprintf(", default %s", found[2])
			}
		}
	}
	return unset
}

// places says where entries are by default: in which keys, object, table or ConfigMap, as each engine says where it is.
func places(t *testing.T) (lines []string) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(config, []byte(`{current-context: c, contexts: [{name: c, context: {cluster: s, user: u}}],
clusters: [{name: s, cluster: {server: "https://HOST"}}], users: [{name: u, user: {token: t}}]}`), 0o600))
	for scheme, where := range map[string]string{
		"etcd":       "etcd://HOST",
		"kubernetes": "kubernetes:namespace/name?kubeconfig=" + config,
		"mariadb":    "mariadb://HOST/DATABASE",
		"postgres":   "postgres://HOST/DATABASE",
		"redis":      "redis://HOST",
		"s3":         "s3://BUCKET?region=REGION",
	} {
		engine, _, err := url.Engine(t.Context(), where)
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("%s, by default: %s", scheme, engine))
		engine.Close()
	}
	redis := string(source(t, "lease/redis/redis.go")) + string(source(t, "lease/redis/engine.lua"))
	for _, found := range regexp.MustCompile(`c\.Prefix \+ "(:\w+)"|'HSETNX', ENTRIES, '(#\w+)'`).FindAllStringSubmatch(redis, -1) {
		what := "key after the prefix "
		if found[2] != "" {
			what = "field of the entries "
		}
		lines = append(lines, "redis, "+what+found[1]+found[2]+": as in engine.lua")
	}
	for _, found := range regexp.MustCompile(`got\.Data\["(\w+)"\]`).FindAllStringSubmatch(string(source(t, "lease/kubernetes/kubernetes.go")), -1) {
		lines = append(lines, "kubernetes, key of the ConfigMap "+found[1]+": all entries")
	}
	return lines
}

// takenParameters are the names with which engines call storeurl.TakeParameter and storeurl.TakeWord.
func takenParameters(t *testing.T) (names []string) {
	for _, file := range sources(t) {
		if !strings.HasPrefix(file, "lease/") {
			continue
		}
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			function, ok := call.Fun.(*ast.SelectorExpr)
			name, isText := call.Args[1].(*ast.BasicLit)
			if ok && isText && (function.Sel.Name == "TakeParameter" || function.Sel.Name == "TakeWord") {
				names = append(names, strings.Trim(name.Value, `"`))
			}
			return true
		})
	}
	return names
}

// protocol has each field, procedure and word of an enum, and how errors are sent.
func protocol(t *testing.T) (lines []string) {
	protoregistry.GlobalFiles.RangeFilesByPackage("randflake.v1", func(file protoreflect.FileDescriptor) bool {
		lines = append(lines, fieldsOf(file.Messages())...)
		for i := range file.Enums().Len() {
			words := file.Enums().Get(i).Values()
			for k := range words.Len() {
				lines = append(lines, fmt.Sprintf("%s: %d", words.Get(k).FullName(), words.Get(k).Number()))
			}
		}
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for k := range methods.Len() {
				m := methods.Get(k)
				lines = append(lines, fmt.Sprintf("%s: %s to %s", m.FullName(), m.Input().Name(), m.Output().Name()))
			}
		}
		return true
	})
	return slices.Concat(lines, reasons(t), overHTTP(t))
}

// overHTTP has the paths beside those of procedures, the headers that only this service gives a meaning, the statuses of
// errors, and which services a health check knows.
func overHTTP(t *testing.T) (lines []string) {
	s := startService(t)
	path := regexp.MustCompile(`^GET (/\w*)`)
	header := regexp.MustCompile(`^(X-Request-Id|Traceparent|Authorization|WWW-Authenticate)$`)
	for _, file := range sources(t) {
		if !strings.HasPrefix(file, "service/internal/") {
			continue
		}
		for _, text := range literals(t, file) {
			if found := path.FindStringSubmatch(text); found != nil {
				known, stranger := s.status(t, found[1], "Bearer "+bearer), s.status(t, found[1], "")
				lines = append(lines, fmt.Sprintf("path %s: GET, status %d, without a token %d", found[1], known, stranger))
			}
			if header.MatchString(text) {
				lines = append(lines, fmt.Sprintf("header %s: header", text))
			}
		}
	}
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		request := httptest.NewRequest("POST", "/", nil)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		connect.NewErrorWriter().Write(answer, request, connect.NewError(code, errors.New("")))
		lines = append(lines, fmt.Sprintf("code %v: status %d", code, answer.Code))
	}
	for _, name := range []string{"", "randflake.v1.CounterService", "randflake.v1.IDService", "randflake.v1.LeaseService"} {
		answer := s.post(t, "/grpc.health.v1.Health/Check", fmt.Sprintf(`{"service":%q}`, name))
		lines = append(lines, fmt.Sprintf("grpc.health.v1.Health, service %q: %s", name, answer))
	}
	return lines
}

func fieldsOf(messages protoreflect.MessageDescriptors) (lines []string) {
	for i := range messages.Len() {
		message := messages.Get(i)
		for k := range message.Fields().Len() {
			f := message.Fields().Get(k)
			line := fmt.Sprintf("%s: %d, %s %s", f.FullName(), f.Number(), f.Cardinality(), f.Kind())
			if f.HasOptionalKeyword() {
				line += ", which may be absent"
			}
			lines = append(lines, line)
		}
		lines = append(lines, fieldsOf(message.Messages())...)
	}
	return lines
}

func reasons(t *testing.T) (lines []string) {
	for _, err := range []error{
		&lease.WaitError{Err: lease.ErrFull}, &lease.WaitError{Err: lease.ErrLoss}, &lease.WaitError{Err: lease.ErrAhead},
		lease.ErrInvalid, lease.ErrWrongSecret, lease.ErrNoCounter, lease.ErrCounterLost, lease.ErrCounterEnded, lease.ErrMismatch, lease.ErrCorrupt, lease.ErrNoSpace, lease.ErrRetired, lease.ErrUnsafe,
		lease.ErrClock, lease.ErrOutcomeUnknown, lease.ErrStore, randflake.ErrEndOfLife, randflake.ErrExhausted,
		randflake.ErrLeaseEnded, randflake.ErrLeaseNotStarted, randflake.ErrClockBackward, randflake.ErrInvalidID,
		wire.ErrRate, wire.ErrBusy, wire.ErrNoStore, wire.ErrNoSecret,
		connect.NewError(connect.CodePermissionDenied, &wire.LimitError{What: "count", Asked: 2, Limit: 1}),
		connect.NewError(connect.CodePermissionDenied, errors.New("")), connect.NewError(connect.CodeUnauthenticated, errors.New("")),
		connect.NewError(connect.CodeNotFound, errors.New("")),
		connect.NewError(connect.CodeUnavailable, errors.New("")), context.DeadlineExceeded, context.Canceled,
	} {
		sent, _ := wire.Error(err, "PROCEDURE", "")
		for _, detail := range sent.Details() {
			value, err := detail.Value()
			require.NoError(t, err)
			if info, ok := value.(*errdetails.ErrorInfo); ok {
				keys := strings.Join(slices.Sorted(maps.Keys(info.Metadata)), " ")
				lines = append(lines, fmt.Sprintf("reason %s: %s of %s, metadata %s", info.Reason, sent.Code(), info.Domain, keys))
			}
		}
	}
	return lines
}
