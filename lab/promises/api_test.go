package promises

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"

	"github.com/randflake/randflake/internal/test/require"
)

const module = "github.com/randflake/randflake"

// loaded are all packages of all modules that users import, and what these import, by their paths.
var loaded = sync.OnceValues(func() (map[string]*types.Package, error) {
	modules, err := command("go", "list", "-m", "-f", "{{.Dir}}/...").Output()
	if err != nil {
		return nil, err
	}
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedTypes,
		Dir:  root,
		Env:  append(os.Environ(), "GOWORK="),
	}
	found, err := packages.Load(config, strings.Fields(string(modules))...)
	if err != nil {
		return nil, err
	}
	all := map[string]*types.Package{}
	for _, p := range found {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		all[p.PkgPath] = p.Types
		for _, imported := range p.Types.Imports() {
			if all[imported.Path()] == nil {
				all[imported.Path()] = imported
				imported.MarkComplete() // with what the package refers to
			}
		}
	}
	return all, nil
})

// notImported are packages that no user imports, generated code, and what the service shares with its client.
var notImported = regexp.MustCompile(`/(internal|examples|bench|cmd|client/api|client/wire)(/|$)`)

// TestAPI compares the exported names of each package: lists/api has them as Go declarations, and apidiff decides.
func TestAPI(t *testing.T) {
	all, err := loaded()
	require.NoError(t, err)
	present := map[string]*types.Package{}
	for path, p := range all {
		if strings.HasPrefix(path, module) && !notImported.MatchString(path) {
			present[path] = p
		}
	}
	if *update {
		require.NoError(t, os.RemoveAll("lists/api"))
		require.NoError(t, os.Mkdir("lists/api", 0o777))
		for path, p := range present {
			write(t, fileOf(path), declarations(p))
		}
		return
	}
	made := madeBefore(t, all)
	for _, path := range slices.Sorted(maps.Keys(made)) {
		if present[path] == nil {
			t.Errorf("breaks: api: %s went", path)
			continue
		}
		for _, change := range apidiff.Changes(made[path], present[path]).Changes {
			word := breaks
			if change.Compatible {
				word = adds
			}
			t.Errorf("%s: api: %s: %s", word, path, change.Message)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(present)) {
		require.That(t, made[path] != nil, "adds: api: %s", path)
	}
}

func fileOf(path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if name == "" {
		name = "randflake"
	}
	return "lists/api/" + strings.ReplaceAll(name, "/", "-") + ".txt"
}

// madeBefore returns the packages of lists/api, by their paths.
func madeBefore(t *testing.T, present map[string]*types.Package) map[string]*types.Package {
	files, err := filepath.Glob("lists/api/*.txt")
	require.NoError(t, err)
	set := token.NewFileSet()
	importer := &stubs{set: set, syntax: map[string]*ast.File{}, made: map[string]*types.Package{}, present: present}
	for _, file := range files {
		syntax, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, declared := range syntax.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok {
				function.Body = new(ast.BlockStmt) // which generic ones need
			}
		}
		importer.syntax[strings.TrimSpace(syntax.Doc.Text())] = syntax
	}
	for path := range importer.syntax {
		_, err := importer.Import(path)
		require.NoError(t, err)
	}
	for _, err := range importer.problems {
		t.Errorf("breaks: api: %v", err)
	}
	return importer.made
}

// stubs imports the packages of lists/api from there, and others as they are.
type stubs struct {
	set      *token.FileSet
	syntax   map[string]*ast.File
	made     map[string]*types.Package
	present  map[string]*types.Package
	problems []error
}

func (s *stubs) Import(path string) (*types.Package, error) {
	syntax := s.syntax[path]
	switch {
	case s.made[path] != nil:
		return s.made[path], nil
	case path == "unsafe":
		return types.Unsafe, nil
	case syntax == nil && s.present[path] == nil:
		return nil, fmt.Errorf("%s is imported by no package any more", path)
	case syntax == nil:
		return s.present[path], nil
	}
	config := types.Config{Importer: s, IgnoreFuncBodies: true, Error: func(err error) { s.problems = append(s.problems, err) }}
	p, _ := config.Check(path, s.set, []*ast.File{syntax}, nil) // the error is among problems
	s.made[path] = p
	return p, nil
}

// declarations returns a Go file that declares what a package exports, one line for each name.
func declarations(p *types.Package) []string {
	w := &writer{of: p, imports: map[string]string{}, hidden: map[string]bool{}}
	scope := p.Scope()
	var lines []string
	for _, name := range scope.Names() {
		if token.IsExported(name) {
			lines = append(lines, w.declare(scope.Lookup(name))...)
		}
	}
	// What is not exported itself may be a part of what is.
	for i := 0; i < len(lines); i++ {
		for _, word := range regexp.MustCompile(`\b[a-z]\w*\b`).FindAllString(lines[i], -1) {
			hidden, isType := scope.Lookup(word).(*types.TypeName)
			if isType && !w.hidden[word] {
				w.hidden[word] = true
				lines = append(lines, w.declare(hidden)...)
			}
		}
	}
	slices.Sort(lines)
	head := []string{"// " + p.Path(), "package " + p.Name()}
	for _, path := range slices.Sorted(maps.Keys(w.imports)) {
		head = append(head, fmt.Sprintf("import %s %q", w.imports[path], path))
	}
	return append(head, lines...)
}

// A writer writes the declarations of a package.
type writer struct {
	of      *types.Package
	imports map[string]string // names by paths
	hidden  map[string]bool   // types that are written though they aren't exported
}

// name is how a package is called in the file.
func (w *writer) name(p *types.Package) string {
	if p == w.of {
		return ""
	}
	name := w.imports[p.Path()]
	if name != "" {
		return name
	}
	name = p.Name()
	taken := slices.Collect(maps.Values(w.imports))
	for slices.Contains(taken, name) || w.of.Scope().Lookup(name) != nil {
		name += "_"
	}
	w.imports[p.Path()] = name
	return name
}

func (w *writer) text(t types.Type) string { return types.TypeString(t, w.name) }

func (w *writer) declare(object types.Object) []string {
	name := object.Name()
	switch o := object.(type) {
	case *types.Const:
		of := ""
		if basic, ok := o.Type().(*types.Basic); !ok || basic.Info()&types.IsUntyped == 0 {
			of = " " + w.text(o.Type())
		}
		return []string{fmt.Sprintf("const %s%s = %s", name, of, o.Val().ExactString())}
	case *types.Var:
		return []string{fmt.Sprintf("var %s %s", name, w.text(o.Type()))}
	case *types.Func:
		return []string{"func " + name + strings.TrimPrefix(w.text(o.Type()), "func")}
	}
	if alias, ok := object.Type().(*types.Alias); ok {
		return []string{fmt.Sprintf("type %s = %s", name, w.text(alias.Rhs()))}
	}
	return w.declareType(object.Type().(*types.Named))
}

func (w *writer) declareType(named *types.Named) []string {
	lines := []string{fmt.Sprintf("type %s%s %s", named.Obj().Name(), w.parameters(named), w.text(withoutHidden(named.Underlying())))}
	for i := range named.NumMethods() {
		method := named.Method(i)
		if method.Exported() {
			signature := method.Signature()
			lines = append(lines, fmt.Sprintf("func (%s) %s%s", w.text(signature.Recv().Type()), method.Name(),
				strings.TrimPrefix(w.text(signature), "func")))
		}
	}
	return lines
}

func (w *writer) parameters(named *types.Named) string {
	var all []string
	for parameter := range named.TypeParams().TypeParams() {
		all = append(all, parameter.Obj().Name()+" "+w.text(parameter.Constraint()))
	}
	if all == nil {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// withoutHidden returns a struct type without its unexported fields. One field says that there were some.
func withoutHidden(t types.Type) types.Type {
	s, ok := t.(*types.Struct)
	if !ok {
		return t
	}
	var fields []*types.Var
	var tags []string
	hidden := false
	for i := range s.NumFields() {
		field := s.Field(i)
		if !field.Exported() && !field.Embedded() {
			hidden = true
			continue
		}
		fields = append(fields, field)
		tags = append(tags, s.Tag(i))
	}
	if hidden {
		var of types.Type = types.Typ[types.Int]
		if !types.Comparable(s) {
			of = types.NewSignatureType(nil, nil, nil, nil, nil, false)
		}
		fields = append(fields, types.NewField(token.NoPos, nil, "_", of, false))
	}
	return types.NewStruct(fields, tags)
}
