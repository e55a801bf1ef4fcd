// Apilist lists what packages export, a declaration each, so that a change of the API shows in a diff:
//
//	apilist . ./lease ...            print the listing
//	apilist -check FILE . ./lease    compare it with that in FILE
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	check := flag.String("check", "", "compare the listing with that in this `file`")
	flag.Parse()
	if err := run(*check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(1)
	}
}

func run(check string, dirs []string) error {
	var out bytes.Buffer
	for _, dir := range dirs {
		if err := list(&out, dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	if check == "" {
		_, err := os.Stdout.Write(out.Bytes())
		return err
	}
	kept, err := os.ReadFile(check)
	if err != nil {
		return err
	}
	if !bytes.Equal(kept, out.Bytes()) {
		return errors.New("the API is not what " + check + " lists: if that is meant, run make api and look at the diff")
	}
	return nil
}

// list writes what the package in dir exports on this platform, and how many names those are.
func list(out *bytes.Buffer, dir string) error {
	sources, err := build.ImportDir(dir, 0)
	if err != nil {
		return err
	}
	l := lister{files: token.NewFileSet()}
	var parsed []*ast.File
	for _, name := range sources.GoFiles {
		file, err := parser.ParseFile(l.files, filepath.Join(dir, name), nil, 0)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	exported, err := doc.NewFromFiles(l.files, parsed, dir)
	if err != nil {
		return err
	}
	l.values(exported.Consts)
	l.values(exported.Vars)
	l.funcs(exported.Funcs)
	for _, t := range exported.Types {
		l.add(t.Decl)
		l.names += 1 + members(t.Decl)
		l.values(t.Consts)
		l.values(t.Vars)
		l.funcs(t.Funcs)
		l.funcs(t.Methods)
	}
	fmt.Fprintf(out, "package %s: %d names\n%s\n", dir, l.names, l.text.String())
	return nil
}

type lister struct {
	files *token.FileSet
	text  bytes.Buffer
	names int
}

func (l *lister) values(groups []*doc.Value) {
	for _, v := range groups {
		l.add(v.Decl)
		for _, name := range v.Names {
			if token.IsExported(name) {
				l.names++
			}
		}
	}
}

func (l *lister) funcs(list []*doc.Func) {
	for _, f := range list {
		f.Decl.Body = nil
		l.add(f.Decl)
		l.names++
	}
}

var blankLines = regexp.MustCompile(`\n\s*\n`)

func (l *lister) add(decl ast.Decl) {
	var text bytes.Buffer
	if err := printer.Fprint(&text, l.files, decl); err != nil {
		panic(err) // it was parsed
	}
	l.text.Write(blankLines.ReplaceAll(text.Bytes(), []byte("\n")))
	l.text.WriteByte('\n')
}

// members counts the exported fields and methods within a type declaration.
func members(decl *ast.GenDecl) (n int) {
	count := func(list *ast.FieldList) {
		for _, f := range list.List {
			n += max(len(f.Names), 1)
		}
	}
	for _, spec := range decl.Specs {
		switch t := spec.(*ast.TypeSpec).Type.(type) {
		case *ast.StructType:
			count(t.Fields)
		case *ast.InterfaceType:
			count(t.Methods)
		}
	}
	return n
}
