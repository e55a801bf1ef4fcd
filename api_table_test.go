package randflake_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// directories are those of the packages that are columns of the tables in docs/api.md.
var directories = map[string]string{
	"randflake": ".", "snowflake": "snowflake", "ulid": "ulid", "mask": "mask", "compat": "compat", "lease": "lease",
}

// A surface is what a package exports: functions, types, values, and methods and fields as Type.Name.
type surface struct {
	names map[string]bool
	must  []string // what the tables may not leave out
}

func surfaceOf(t *testing.T, dir string) surface {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", dir, files, err)
	}
	s := surface{names: map[string]bool{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range syntax.Decls {
			s.add(decl)
		}
	}
	return s
}

func (s *surface) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = typeName(d.Recv.List[0].Type) + "." + name
		}
		s.names[name] = true
		if isOption(d) || strings.HasPrefix(name, "Generator.") && d.Name.IsExported() && d.Name.Name != "Format" {
			s.must = append(s.must, name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			s.addSpec(spec)
		}
	}
}

func (s *surface) addSpec(spec ast.Spec) {
	switch d := spec.(type) {
	case *ast.TypeSpec:
		s.names[d.Name.Name] = true
		if fields, ok := d.Type.(*ast.StructType); ok {
			for _, field := range fields.Fields.List {
				for _, name := range field.Names {
					s.names[d.Name.Name+"."+name.Name] = true
				}
			}
		}
	case *ast.ValueSpec:
		for _, name := range d.Names {
			s.names[name.Name] = true
			if strings.HasPrefix(name.Name, "Err") {
				s.must = append(s.must, name.Name)
			}
		}
	}
}

// isOption reports whether a function returns an option.
func isOption(d *ast.FuncDecl) bool {
	if d.Recv != nil || !d.Name.IsExported() || d.Type.Results == nil {
		return false
	}
	result := typeName(d.Type.Results.List[0].Type)
	return result == "Option" || result == "KeepOption"
}

// typeName returns the name of a type without pointers and type parameters.
func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var quoted = regexp.MustCompile("`([^`]+)`")

// tableNames returns the names in the tables of a text, by the headings of their columns.
func tableNames(text string) map[string][]string {
	names := map[string][]string{}
	var heads []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			heads = nil
		case heads == nil:
			heads = strings.Split(strings.Trim(line, " \n"), "|")[1:] // the first may be empty
			for i := range heads {
				heads[i] = strings.TrimSpace(heads[i])
			}
		default:
			for i, cell := range cells {
				for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
					names[heads[i]] = append(names[heads[i]], match[1])
				}
			}
		}
	}
	return names
}

// What the tables of the documentation name is there, and what there is of generators, options and errors is in
// the tables.
func TestTablesOfAllKinds(t *testing.T) {
	text, err := os.ReadFile("docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	names := tableNames(string(text))
	for kind, dir := range directories {
		s := surfaceOf(t, dir)
		for _, name := range names[kind] {
			if !s.names[name] {
				t.Errorf("docs/api.md: %s has no %s", kind, name)
			}
		}
		if kind == "lease" {
			continue // has more errors than these tables are about
		}
		for _, name := range s.must {
			if !slices.Contains(names[kind], name) {
				t.Errorf("docs/api.md: %s.%s is missing", kind, name)
			}
		}
	}
}

// The test above knows a name that is not there, and finds names in their columns.
func TestTableNames(t *testing.T) {
	names := tableNames("text `No`\n\n| | ulid | mask |\n|---|---|---|\n| `No` | `A`, `B`: c | – |\n| x | – | `C` |\n\n| | lease |\n|---|---|\n| x | `D` |\n")
	if !slices.Equal(names["ulid"], []string{"A", "B"}) || !slices.Equal(names["mask"], []string{"C"}) || !slices.Equal(names["lease"], []string{"D"}) {
		t.Errorf("found %v", names)
	}
	s := surfaceOf(t, "mask")
	for name, want := range map[string]bool{"ID.Inner": true, "Parse": true, "ErrNoCipher": true, "Masker.Open": true, "ID.Outer": false, "Generate": false} {
		if s.names[name] != want {
			t.Errorf("mask has %s: %t, want %t", name, s.names[name], want)
		}
	}
}
