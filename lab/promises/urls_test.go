package promises

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/url"
)

// parameters are those that engines take out of a URL. What is left is for their drivers, which promise it.
func parameters(t *testing.T) (lines []string) {
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
		for _, name := range append(takenParameters(t), "space") {
			if !isUnknown(where, name) {
				lines = append(lines, scheme+" "+name+": parameter"+unset[scheme+" "+name])
			}
		}
	}
	return lines
}

// isUnknown reports whether a parameter is refused as one that no engine has.
func isUnknown(where, name string) bool {
	const value = "=/word/"
	_, _, refused := url.Parse(where + "nosuch" + value)
	_, _, err := url.Parse(where + name + value)
	return err != nil && refused != nil && strings.ReplaceAll(refused.Error(), "nosuch", name) == err.Error()
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

// places says where each engine keeps entries by default, in its own words: keys, an object, a table, a ConfigMap.
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
	return append(lines, keys(t)...)
}

// keys are those of Redis and of a ConfigMap, as the engines' sources spell them.
func keys(t *testing.T) (lines []string) {
	for _, of := range []struct{ file, spelled, line string }{
		{"lease/redis/redis.go", `c\.Prefix \+ "(:\w+)"`, "redis, key after the prefix %s: as in engine.lua"},
		{"lease/redis/engine.lua", `'HSETNX', ENTRIES, '(#\w+)'`, "redis, field of the entries %s: as in engine.lua"},
		{"lease/kubernetes/kubernetes.go", `got\.Data\["(\w+)"\]`, "kubernetes, key of the ConfigMap %s: all entries"},
	} {
		for _, found := range regexp.MustCompile(of.spelled).FindAllSubmatch(source(t, of.file), -1) {
			lines = append(lines, fmt.Sprintf(of.line, found[1]))
		}
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
