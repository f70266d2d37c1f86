package customformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/seracdb/serac/plan"
)

// manifest is the JSON file of a table, NAME.json in the folder of its schema.
type manifest struct {
	Columns []manifestColumn `json:"columns"`
	Files   []manifestFile   `json:"files"`

	schema plan.Schema
}

type manifestColumn struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	NotNull bool   `json:"not_null"`
}

// manifestFile is a CSV file: a header line, then rows with a field for each of the table's columns. A field that is empty
// and not quoted is NULL. The file never changes: new rows come in new files.
type manifestFile struct {
	// Path is relative to the manifest's folder, and below it.
	Path string `json:"path"`
	// Rows and Bytes are the file's size, for estimates.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Range is the least and the greatest value that a BIGINT column has in the file, by the column's name. It need not be
	// given; with it, scans whose filter asks for other values leave the file out.
	Range map[string][2]int64 `json:"range"`
}

// kinds are the types that a column can have: those that a text stands for without a time zone or a nested form.
var kinds = map[plan.Kind]bool{
	plan.Boolean: true, plan.SmallInt: true, plan.Integer: true, plan.BigInt: true, plan.Float: true, plan.Double: true,
	plan.Decimal: true, plan.Varchar: true, plan.Date: true, plan.Time: true, plan.Timestamp: true,
}

// parseManifest reads a manifest and says everything that is wrong with it.
func parseManifest(text []byte) (*manifest, error) {
	m := &manifest{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a manifest: something follows it")
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(m.Columns) == 0 {
		fault("no columns")
	}
	types := map[string]plan.Kind{} // by name in lower case
	for _, c := range m.Columns {
		t, err := columnType(c.Type)
		_, twice := types[strings.ToLower(c.Name)]
		switch {
		case c.Name == "":
			fault("a column without a name")
		case twice:
			fault("column %q: there are two of that name", c.Name)
		case err != nil:
			fault("column %q: %w", c.Name, err)
		}
		types[strings.ToLower(c.Name)] = t.Kind
		m.schema = append(m.schema, plan.Column{Name: c.Name, Type: t, Nullable: !c.NotNull})
	}
	for i, f := range m.Files {
		if !filepath.IsLocal(f.Path) {
			fault("file %d: path %q is not below the manifest's folder", i, f.Path)
		}
		if f.Rows < 0 || f.Bytes < 0 {
			fault("file %s: a negative size", f.Path)
		}
		for name, r := range f.Range {
			if types[strings.ToLower(name)] != plan.BigInt || r[0] > r[1] {
				fault("file %s: the range of %q is not that of a BIGINT column", f.Path, name)
			}
		}
	}
	return m, errors.Join(faults...)
}

func columnType(text string) (plan.Type, error) {
	t, err := plan.ParseType(text)
	if err != nil {
		return plan.Type{}, err
	}
	if !kinds[t.Kind] {
		return plan.Type{}, fmt.Errorf("type %s cannot be in a CSV file", t)
	}
	return t, nil
}
