package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/codec/conformance"
	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	"github.com/seracdb/serac/wire"
	"github.com/stretchr/testify/require"
)

// tables are those that the samples name.
func tables() []*wire.Table {
	table := func(key string) *wire.Table {
		return &wire.Table{
			Key: key, Identifier: []string{"serac", "ns", key}, MetadataLocation: "file:///w/" + key + "/v1.metadata.json",
			FileIO: wire.NewFileIO(map[string]string{"s3.region": "eu", "s3.secret-access-key": "k"}), ReadOnly: true,
			FormatVersion: 2, Metadata: []byte(`{"format-version":2}`),
		}
	}
	return []*wire.Table{table("t"), table("tx")}
}

// cases are the samples, without those expressions that stand elsewhere or are variants.
func cases() []conformance.Case {
	var all []conformance.Case
	for _, s := range samples.Nodes() {
		if strings.HasPrefix(s.Name, "expr in") || strings.HasPrefix(s.Name, "expr right") ||
			strings.HasPrefix(s.Name, "expr ") && strings.Contains(s.Name, "/") {
			continue
		}
		all = append(all, conformance.Case{Name: s.Name, Node: s.Node})
	}
	return all
}

func TestOurCodecConforms(t *testing.T) {
	ran := 0
	rows := runner(t)
	conformance.Run(t, conformance.Options{
		Codec: codec.New(codec.NewRegistry()), Cases: cases(), Tables: tables(), Plan: true, Flips: 100,
		Rows: func(n plan.Node) ([][]any, error) {
			got, err := rows(n)
			if err == nil && len(got) > 0 {
				ran++
			}
			return got, err
		},
	})
	if t.Failed() || ran == 0 { // in the other process nothing runs
		return
	}
	require.Greater(t, ran, 60, "plans that gave rows")
}

// runner runs plans in DuckDB, with the same rows in all their leaves. What cannot be run (a plan that is a part of one, a
// function that there is not) is told apart from what fails by DuckDB alone.
func runner(t *testing.T) func(plan.Node) ([][]any, error) {
	t.Helper()
	db, err := duckdb.Open(t.Context(), duckdb.Options{Threads: 1})
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
	leaf := func(n plan.Node) (string, error) {
		switch n.(type) {
		case *plan.ShuffleRead, *plan.IcebergScan:
		default:
			return "", nil
		}
		var columns []string
		for i, c := range n.Schema() {
			columns = append(columns, fmt.Sprintf("CAST((i * %d) %% 5 AS %s) AS c%d", i+1, c.Type.SQL(), i))
		}
		return "SELECT " + strings.Join(columns, ", ") + " FROM range(1, 8) r(i)", nil
	}
	return func(n plan.Node) ([][]any, error) {
		sql, err := render.SQL(n, render.Options{Leaf: leaf})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		rows, err := conn.Rows(context.Background(), sql)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		return rows, nil
	}
}

// A node or an expression that is added to plan is missed here until it has a sample.
func TestEveryNodeAndExpressionHasASample(t *testing.T) {
	have := conformance.HasNodes(append(cases(), conformance.Case{Node: &plan.Extension{}}))
	names := closedSets(t)
	require.Greater(t, len(names), 30)
	for _, name := range names {
		require.True(t, have[name], "no sample has a %s", name)
	}
}

// closedSets are the names of plan's types that have the method isNode or isExpr, from its source.
func closedSets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../plan/*.go")
	require.NoError(t, err)
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv != nil && (f.Name.Name == "isNode" || f.Name.Name == "isExpr") {
				names = append(names, f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		}
	}
	return names
}
