package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A type switch that names more than this share of the nodes, or of the expressions, means to name them all.
const exhaustiveShare = 0.7

// TestSwitchesAreExhaustive finds the type switches over nodes and expressions in the whole project and names those that
// miss a kind: add a kind, and this test lists every switch to extend.
func TestSwitchesAreExhaustive(t *testing.T) {
	nodes, exprs := kinds(t, "isNode"), kinds(t, "isExpr")
	if len(nodes) < 20 || len(exprs) < 10 {
		t.Fatalf("found only %d nodes and %d expressions", len(nodes), len(exprs))
	}
	root := ".."
	switches := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // a file being written: the compiler complains about it
		}
		inPlan := file.Name.Name == "plan"
		ast.Inspect(file, func(n ast.Node) bool {
			sw, ok := n.(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			cases := caseTypes(sw, inPlan)
			for what, kinds := range map[string][]string{"node": nodes, "expression": exprs} {
				missing := slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return cases[k] })
				if named := len(kinds) - len(missing); float64(named) < exhaustiveShare*float64(len(kinds)) {
					continue
				}
				switches++
				if len(missing) > 0 {
					t.Errorf("%s: the switch over %s kinds misses %s", fset.Position(sw.Pos()), what, strings.Join(missing, ", "))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if switches < 8 {
		t.Errorf("found only %d exhaustive switches; is the share right?", switches)
	}
}

// kinds are the types of this package with a marker method.
func kinds(t *testing.T, marker string) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != marker {
				continue
			}
			if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
				out = append(out, star.X.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// caseTypes are the types of this package that a switch has cases for.
func caseTypes(sw *ast.TypeSwitchStmt, inPlan bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sw.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			star, ok := e.(*ast.StarExpr)
			if !ok {
				continue
			}
			switch x := star.X.(type) {
			case *ast.Ident:
				if inPlan {
					out[x.Name] = true
				}
			case *ast.SelectorExpr:
				if pkg, ok := x.X.(*ast.Ident); ok && pkg.Name == "plan" {
					out[x.Sel.Name] = true
				}
			}
		}
	}
	return out
}
