package secrets

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mayHold are the names of fields that may hold a credential.
var mayHold = regexp.MustCompile(`(?i)secret|password|passwd|token|credential|propert|fileio|file_io|storage|headers|settings|certificate|apikey|access_?key|dsn`)

// keeps are the types of fields that can hold one.
var keeps = regexp.MustCompile(`string|\[\]byte|\bmap\[|FileIO|Secret|Properties|Storage`)

// TypesThatMayHold lists the exported struct types below a folder, as "path.Type", with a field that by its name and type
// may hold a credential, or storage properties that do. It reads the source, so that no type is forgotten.
func TypesThatMayHold(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "tests", "examples", "cmd", "testdata"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && structMayHold(s) {
				found = append(found, filepath.ToSlash(filepath.Dir(name))+"."+spec.Name.Name)
			}
			return true
		})
		return nil
	})
	slices.Sort(found)
	return slices.Compact(found), err
}

func structMayHold(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		kind := types.ExprString(f.Type)
		if strings.HasPrefix(kind, "func(") || !keeps.MatchString(kind) {
			continue
		}
		if strings.Contains(kind, "FileIO") || strings.Contains(kind, "Secret") || strings.HasPrefix(kind, "map[string]string") {
			return true
		}
		for _, name := range f.Names {
			if mayHold.MatchString(name.Name) {
				return true
			}
		}
	}
	return false
}
