package promises

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/counter/numbers"
)

// words are those among which flags, keys and parameters choose, one in each line, so that a new one only adds.
func words(t *testing.T) (lines []string) {
	add := func(where string, all ...string) {
		for _, word := range all {
			lines = append(lines, where+" "+word+": word")
		}
	}
	flag := regexp.MustCompile(`^randflake (.*) --([a-z-]+): [A-Z]`)
	word := regexp.MustCompile(`[a-z0-9]+`)
	line := regexp.MustCompile(`(?m)^[a-z0-9]+$`)
	for _, described := range flagsOfTree(t, tool(t), nil) {
		found := flag.FindStringSubmatch(described)
		if found == nil {
			continue
		}
		asked := append([]string{"__complete"}, strings.Fields(found[1])...)
		answer := must(t, tool(t), append(asked, "--"+found[2], "")...)
		if strings.Contains(answer, "ShellCompDirectiveNoFileComp") {
			add("randflake "+found[1]+" --"+found[2], line.FindAllString(answer, -1)...)
		}
	}
	for _, c := range []struct{ where, file, form string }{
		{"randflake counter list, state", "cmd/randflake/internal/cli/counter.go", `state[A-Z]\w+ += ("\w+")`},
		{"randflaked.yaml, log.level", "service/internal/config/check.go", `want (debug, info, warn) or (error)`},
		{"randflaked.yaml, spaces[].kind", "service/internal/config/config.go", `Kinds = \[\]string\{(.*)\}`},
		{"randflaked.yaml, rules[].verbs", "service/internal/config/config.go", `Verbs = \[\]string\{(.*)\}`},
		{"redis, settings", "lease/redis/url.go", `TakeWord\(query, "settings", ("\w+")\)`},
		{"mariadb, pages", "lease/mariadb/url.go", `TakeWord\(query, "pages", ("\w+")\)`},
	} {
		for _, found := range regexp.MustCompile(c.form).FindAllStringSubmatch(string(source(t, c.file)), -1) {
			for _, group := range found[1:] {
				add(c.where, word.FindAllString(group, -1)...)
			}
		}
	}
	add("metrics, label code", "ok")
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		add("metrics, label code", code.String())
	}
	for periods := numbers.Year; periods <= numbers.FiscalYear(time.December); periods++ {
		if _, err := numbers.ParsePeriods(periods.String()); err == nil {
			add("randflaked.yaml, spaces[].counters[].periods", periods.String())
		}
	}
	return lines
}

// names are what users of this project refer to by name: packages, files, paths in the image and the chart, alerts,
// and spans of OpenTelemetry, whose instruments have the names of metrics.
func names(t *testing.T) (lines []string) {
	for _, c := range []struct{ what, file, form string }{
		{"package of Python", "service/clients/python/pyproject.toml", `(?m)^name = "(.*)"`},
		{"package of npm", "service/clients/typescript/package.json", `(?m)^  "name": "(.*)"`},
		{"group of Maven", "service/clients/java/pom.xml", `(?m)^  <groupId>(.*)</groupId>`},
		{"artifact of Maven", "service/clients/java/pom.xml", `(?m)^  <artifactId>(.*)</artifactId>`},
		{"module of Java", "service/clients/java/src/module-info.java", `module ([\w.]+)`},
		{"chart", "service/deploy/chart/Chart.yaml", `(?m)^name: (.*)`},
		{"chart, path", "service/deploy/chart/templates/deployment.yaml", `mountPath: (.*)`},
		{"image", "service/deploy/Dockerfile", `(?m)^((?:USER|EXPOSE|ENTRYPOINT|CMD) .*)`},
		{"image, path", "service/deploy/Dockerfile", `(?m)(/var/lib/\w+)$`},
		{"alert", "service/deploy/chart/alerts.yaml", `- alert: (\w+)`},
		{"OpenTelemetry", "lease/metrics/telemetry/telemetry.go", `(?:scope = |, )"([\w./]*randflake[\w./]*)"`},
	} {
		for _, found := range regexp.MustCompile(c.form).FindAllStringSubmatch(string(source(t, c.file)), -1) {
			lines = append(lines, fmt.Sprintf("%s %s: name", c.what, found[1]))
		}
	}
	made := regexp.MustCompile(`made a new secret (?:and a store )?in \S*/(\w+/[\w.]+)`)
	dir := filepath.Join(t.TempDir(), "DIR")
	for _, args := range []string{"new", "store init --never-used " + dir, "store init --never-used " + dir + "?space=b"} {
		out := must(t, tool(t), strings.Fields(args)...)
		found := made.FindStringSubmatch(out)
		lines = append(lines, fmt.Sprintf("secret, %s: %s", strings.ReplaceAll(args, dir, "DIR"), found[1]))
	}
	return lines
}
