package promises

import (
	"encoding/json"
	"go/ast"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/randflake/randflake/internal/test/require"
)

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
	return lines
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
	defaults := map[string]string{}
	ast.Inspect(parse(t, "service/internal/config/config.go"), func(n ast.Node) bool {
		of, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := of.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range fields.Fields.List {
			found := said.FindStringSubmatch(field.Comment.Text())
			if found == nil {
				continue
			}
			defaults[of.Name.Name+"."+field.Names[0].Name] = constant.ReplaceAllStringFunc(found[1], func(name string) string {
				return p.Scope().Lookup(name).(*types.Const).Val().String()
			})
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
