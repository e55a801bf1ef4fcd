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
	made := declaredIn(t, listed(t), all)
	present = declaredIn(t, declaredBy(present), all) // by the same rules
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

// listed returns the files of lists/api.
func listed(t *testing.T) (files []string) {
	names, err := filepath.Glob("lists/api/*.txt")
	require.NoError(t, err)
	for _, name := range names {
		files = append(files, strings.Join(read(t, name), "\n"))
	}
	return files
}

// declaredBy returns the files that -update would write.
func declaredBy(present map[string]*types.Package) (files []string) {
	for _, p := range present {
		files = append(files, strings.Join(declarations(p), "\n"))
	}
	return files
}

// declaredIn returns the packages that files declare, by their paths. What these import is in present.
func declaredIn(t *testing.T, files []string, present map[string]*types.Package) map[string]*types.Package {
	set := token.NewFileSet()
	importer := &stubs{set: set, syntax: map[string]*ast.File{}, made: map[string]*types.Package{}, present: present}
	for _, file := range files {
		syntax, err := parser.ParseFile(set, "", file, parser.ParseComments)
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

// stubs imports the packages that files declare from there, and others as they are.
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

// declareType declares a type and its methods, with those of an embedded internal type. What else mentions internal
// types is left out: no user can name them.
func (w *writer) declareType(named *types.Named) []string {
	name := named.Obj().Name()
	lines := []string{fmt.Sprintf("type %s%s %s", name, w.parameters(named), w.text(withoutHidden(named.Underlying())))}
	own := map[string]bool{}
	for i := range named.NumMethods() {
		method := named.Method(i)
		own[method.Name()] = true
		lines = append(lines, w.method(w.text(method.Signature().Recv().Type()), method)...)
	}
	for _, field := range embeddedInternal(named.Underlying()) {
		for method := range types.NewMethodSet(field.Type()).Methods() {
			if !own[method.Obj().Name()] {
				lines = append(lines, w.method("*"+name, method.Obj().(*types.Func))...)
			}
		}
	}
	return lines
}

func (w *writer) method(receiver string, method *types.Func) []string {
	if !method.Exported() || isInternal(method.Signature()) {
		return nil
	}
	return []string{fmt.Sprintf("func (%s) %s%s", receiver, method.Name(), strings.TrimPrefix(w.text(method.Signature()), "func"))}
}

func embeddedInternal(t types.Type) (fields []*types.Var) {
	s, ok := t.(*types.Struct)
	if !ok {
		return nil
	}
	for field := range s.Fields() {
		if field.Embedded() && isInternal(field.Type()) {
			fields = append(fields, field)
		}
	}
	return fields
}

// isInternal reports whether a type mentions one of an internal package.
func isInternal(t types.Type) bool {
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	return strings.Contains(types.TypeString(t, nil), "/internal/")
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

// withoutHidden returns a struct type with a single field in place of all unexported ones, or an interface without
// the methods that mention internal types.
func withoutHidden(t types.Type) types.Type {
	s, ok := t.(*types.Struct)
	if !ok {
		return withoutInternal(t)
	}
	var fields []*types.Var
	var tags []string
	hidden := false
	for i := range s.NumFields() {
		field := s.Field(i)
		if !field.Exported() && !field.Embedded() || field.Embedded() && isInternal(field.Type()) {
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

func withoutInternal(t types.Type) types.Type {
	i, ok := t.(*types.Interface)
	if !ok || !isInternal(t) {
		return t
	}
	var methods []*types.Func
	for method := range i.ExplicitMethods() {
		if !isInternal(method.Signature()) {
			methods = append(methods, method)
		}
	}
	return types.NewInterfaceType(methods, slices.Collect(i.EmbeddedTypes())).Complete()
}
