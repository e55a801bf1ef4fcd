package promises

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// The clients in other languages are read as text, so that the lists need none of the languages.

// clientSources has the sources of a client, each without comments.
func clientSources(t *testing.T, pattern, comment string) (texts []string) {
	files, err := filepath.Glob(filepath.Join(root, "service/clients", pattern))
	require.NoError(t, err)
	require.Must(t, len(files) > 0, "there is no %s", pattern)
	for _, file := range files {
		text := source(t, strings.TrimPrefix(file, root+"/"))
		texts = append(texts, regexp.MustCompile(comment).ReplaceAllString(string(text), ""))
	}
	return texts
}

// chunks returns a source's parts that begin where head matches, each with the head's groups, and up to the next head.
func chunks(text string, head *regexp.Regexp) (all [][]string) {
	found := head.FindAllStringIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		all = append(all, append(head.FindStringSubmatch(text[at[0]:end])[1:], text[at[0]:end]))
	}
	return all
}

func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// pythonNames has what __all__ names: functions, and classes with their methods and attributes.
func pythonNames(t *testing.T) (lines []string) {
	var (
		head      = regexp.MustCompile(`(?m)^(class|def) (\w+)`)
		signature = regexp.MustCompile(`(?s)^(?:class|def) \w+(.*?):\n`)
		method    = regexp.MustCompile(`(?ms)^    (async )?def (__init__|[a-z]\w*)(\(.*?):\n`)
		attribute = regexp.MustCompile(`(?m)^(?:    ([a-z]\w*)(: [^\n#]*)|        self\.([a-z]\w*) = .*)$`)
		inherited = regexp.MustCompile(`\((_\w+|Uncopied)\)`) // for the package alone
	)
	texts := clientSources(t, "python/randflaked/*.py", `#[^"\n]*\n`)
	exported := regexp.MustCompile(`(?s)__all__ = \[.*?\]`).FindString(texts[0])
	for _, chunk := range chunks(strings.Join(texts, "\n"), head) {
		kind, name, text := chunk[0], chunk[1], chunk[2]
		if !strings.Contains(exported, `"`+name+`"`) {
			continue
		}
		what := inherited.ReplaceAllString(signature.FindStringSubmatch(text)[1], "")
		lines = append(lines, fmt.Sprintf("%s: %s", name, inOneLine(kind+" "+what)))
		if kind == "def" {
			continue
		}
		for _, m := range method.FindAllStringSubmatch(text, -1) {
			lines = append(lines, fmt.Sprintf("%s.%s: %s", name, m[2], inOneLine(m[1]+m[3])))
		}
		for i, m := range attribute.FindAllStringSubmatch(text, -1) {
			lines = append(lines, fmt.Sprintf("%s.%s%s: attribute %d%s", name, m[1], m[3], i+1, strings.TrimSpace(m[2])))
		}
	}
	return lines
}

// typescriptNames has what index.ts exports: functions, types, and classes with their members.
func typescriptNames(t *testing.T) (lines []string) {
	var (
		head     = regexp.MustCompile(`(?m)^(export )?(?:declare )?(?:async )?(class|interface|function|type|const) (\w+)`)
		function = regexp.MustCompile(`(?s)^export function \w+(.*?\)(?:: [^\n]+)?) \{\n`)
		member   = regexp.MustCompile(`(?ms)^  ((?:(?:static|async|get|readonly|override) )*)([a-z]\w*\??)(?:(\(.*?\)(?:: [^{;\n]+)?)(?: \{|;\n)|(?:: | = )(.*?);\n)`)
	)
	const comment = `(?s) */\*\*[^/]*@internal \*/\n[^\n]*\n| */\*\*.*?\*/\n| *//[^\n]*`
	texts := clientSources(t, "typescript/src/*.ts", comment)
	index := clientSources(t, "typescript/src/index.ts", comment)[0]
	inID := clientSources(t, "typescript/src/id.ts", comment)[0]
	for _, chunk := range chunks(strings.Join(texts, "\n"), head) {
		kind, name, text := chunk[1], chunk[2], chunk[3]
		first, _, _ := strings.Cut(text, "\n")
		isNamed := regexp.MustCompile(`\b` + name + `\b`).MatchString(index)
		isInID := strings.Contains(inID, first) || regexp.MustCompile(`export \{ `+name+` \}`).MatchString(inID)
		if chunk[0] == "" || !isNamed && !isInID {
			continue
		}
		switch kind {
		case "function":
			lines = append(lines, fmt.Sprintf("%s: function %s", name, inOneLine(function.FindStringSubmatch(text)[1])))
		case "type":
			lines = append(lines, fmt.Sprintf("%s: %s", name, inOneLine(strings.TrimPrefix(text, "export "))))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s", name, inOneLine(strings.TrimPrefix(strings.TrimSuffix(first, " {"), "export "))))
			for _, m := range member.FindAllStringSubmatch(text, -1) {
				lines = append(lines, fmt.Sprintf("%s.%s: %s", name, m[2], inOneLine(m[1]+m[3]+m[4])))
			}
		}
	}
	return lines
}

// javaNames has what is public, overloads by the types of their parameters.
func javaNames(t *testing.T) (lines []string) {
	public := regexp.MustCompile(`(?m)^ {0,4}public ([^{;]*)[{;]`)
	parameter := regexp.MustCompile(` \w+([,)])`)
	for _, text := range clientSources(t, "java/src/io/github/randflake/*.java", `(?s)/\*\*.*?\*/|//[^\n]*`) {
		class := ""
		for _, m := range public.FindAllStringSubmatch(text, -1) {
			declared := inOneLine(m[1])
			isClass := regexp.MustCompile(`\b(?:class|record|interface|enum) (\w+)`).FindStringSubmatch(declared)
			if isClass != nil {
				class = isClass[1]
				lines = append(lines, fmt.Sprintf("%s: %s", class, declared))
				continue
			}
			before, parameters, found := strings.Cut(declared, "(")
			if found {
				words := strings.Fields(before)
				name := words[len(words)-1] + parameter.ReplaceAllString("("+parameters, "$1")
				what := strings.Join(words[:len(words)-1], " ")
				lines = append(lines, fmt.Sprintf("%s.%s: %s", class, name, inOneLine("public "+what)))
			}
		}
	}
	return lines
}
