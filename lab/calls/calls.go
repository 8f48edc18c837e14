// Calls of a Go module by its type checker: one JSON row for each call, as lab/call_edges.py reads them.
//
//	go run calls.go FOLDER
package main

import (
	"encoding/json"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

type row struct {
	Path       string `json:"path"`
	Line       int    `json:"line"`
	Name       string `json:"name"`
	CalleePath string `json:"callee_path"`
	CalleeLine int    `json:"callee_line"`
}

func main() {
	root, _ := filepath.Abs(os.Args[1])
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps
	found, err := packages.Load(&packages.Config{Mode: mode, Dir: root, Tests: true}, "./...")
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	seen := map[string]bool{}
	for _, pkg := range found {
		for _, file := range pkg.Syntax {
			path, err := filepath.Rel(root, pkg.Fset.Position(file.Pos()).Filename)
			if err != nil || seen[path] || path[0] == '.' {
				continue
			}
			seen[path] = true
			out.Encode(row{Path: path})
			ast.Inspect(file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				callee := ast.Unparen(call.Fun)
				if index, ok := callee.(*ast.IndexExpr); ok {
					callee = index.X
				}
				var name *ast.Ident
				switch one := callee.(type) {
				case *ast.Ident:
					name = one
				case *ast.SelectorExpr:
					name = one.Sel
				default:
					return true
				}
				one := row{Path: path, Line: pkg.Fset.Position(name.Pos()).Line, Name: name.Name}
				object := pkg.TypesInfo.Uses[name]
				if function, ok := object.(*types.Func); ok {
					object = function.Origin()
				}
				if object != nil {
					at := pkg.Fset.Position(object.Pos())
					one.CalleePath, one.CalleeLine = "outside", 0
					if inside, err := filepath.Rel(root, at.Filename); err == nil && at.IsValid() && inside[0] != '.' {
						if _, isFunc := object.(*types.Func); isFunc {
							one.CalleePath, one.CalleeLine = inside, at.Line
						}
					}
				}
				out.Encode(one)
				return true
			})
		}
	}
}
