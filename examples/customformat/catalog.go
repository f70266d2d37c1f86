package customformat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/seracdb/serac/examples/customformat/scanpb"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/plan"
)

const manifestSuffix = ".json"

// catalog is a folder: a folder in it is a schema, and a manifest in that a table.
type catalog struct {
	root *os.Root // names come from statements: nothing outside the folder can be reached with one
	path string   // absolute
}

func (c *catalog) Close() error { return c.root.Close() }

func (c *catalog) Schemas(context.Context) ([]string, error) {
	entries, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (c *catalog) Tables(_ context.Context, schema string) ([]string, error) {
	entries, err := c.schema(schema)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), manifestSuffix); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *catalog) schema(name string) ([]fs.DirEntry, error) {
	if !isName(name) {
		return nil, fmt.Errorf("%w: %q", format.ErrNoSchema, name)
	}
	entries, err := fs.ReadDir(c.root.FS(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", format.ErrNoSchema, name)
	}
	return entries, err
}

// isName says that a name is that of a file or folder in a folder.
func isName(name string) bool { return fs.ValidPath(name) && name != "." && path.Base(name) == name }

func (c *catalog) Load(_ context.Context, schema, name string) (format.Table, error) {
	if _, err := c.schema(schema); err != nil {
		return nil, err
	}
	if !isName(name) {
		return nil, fmt.Errorf("%w: %q", format.ErrNoTable, name)
	}
	file := schema + "/" + name + manifestSuffix
	text, err := fs.ReadFile(c.root.FS(), file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", format.ErrNoTable, name)
	}
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", filepath.Join(c.path, file), err)
	}
	sum := sha256.Sum256(text)
	return &table{
		manifest: m, name: schema + "." + name, folder: filepath.Join(c.path, schema), version: hex.EncodeToString(sum[:]),
	}, nil
}

// table is a manifest as it was when the statement loaded it.
type table struct {
	*manifest
	name, folder, version string
}

func (t *table) Version() string      { return t.version }
func (t *table) Columns() plan.Schema { return t.schema }

func (t *table) Rows() int64 {
	var n int64
	for _, f := range t.Files {
		n += f.Rows
	}
	return n
}

func (t *table) Bytes() int64 {
	var n int64
	for _, f := range t.Files {
		n += f.Bytes
	}
	return n
}

// Plan makes a split of each file that may have rows for the filter.
func (t *table) Plan(_ context.Context, s format.Scan) (*format.Planned, error) {
	scan := &Scan{Leaf: s.Leaf, Table: t.name, Columns: t.schema, Read: s.Columns}
	out := &format.Planned{Leaf: scan}
	for _, f := range t.Files {
		if !mayMatch(f, scan.Schema(nil), s.Filter) {
			continue
		}
		out.Splits = append(out.Splits, format.Split{
			Message: &scanpb.CSVFile{Path: filepath.Join(t.folder, f.Path)}, Rows: f.Rows, Bytes: f.Bytes,
		})
	}
	return out, nil
}

// mayMatch says whether a file may have a row for which the filter is true. When in doubt it may.
func mayMatch(f manifestFile, columns plan.Schema, filter plan.Expr) bool {
	for _, part := range plan.SplitConjunction(filter) {
		c, ok := part.(*plan.Comparison)
		if !ok {
			continue
		}
		column, isColumn := c.Left.(*plan.ColumnRef)
		constant, isConstant := c.Right.(*plan.Constant)
		if !isColumn || !isConstant {
			continue
		}
		r, known := f.Range[columns[column.Index].Name]
		value, isInt := constant.Value.(int64)
		if !known || !isInt {
			continue
		}
		least, greatest := r[0], r[1]
		switch {
		case c.Op == plan.Equal && (value < least || value > greatest),
			c.Op == plan.Less && least >= value,
			c.Op == plan.LessOrEqual && least > value,
			c.Op == plan.Greater && greatest <= value,
			c.Op == plan.GreaterOrEqual && greatest < value:
			return false
		}
	}
	return true
}
