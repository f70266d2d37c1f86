package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/inspect"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/wire"
)

// named is what a name of a FROM clause stands for: a table, or one of a table's metadata tables.
type named struct {
	table    *catalog.Table
	metadata string // the metadata table's kind; "": the table itself
	renamed  bool   // the kind was a further part of the name
}

// readable resolves a name to read from. A table of that very name comes first; then "orders$files" and orders.files are
// metadata tables of orders.
func (st *statement) readable(ctx context.Context, parts []string) (named, error) {
	last := parts[len(parts)-1]
	base, suffix, dollar := cutLast(last, "$")
	if kind, ok := inspect.Kind(suffix); dollar && ok {
		of := append(append([]string{}, parts[:len(parts)-1]...), base)
		return st.metadataTable(ctx, parts, of, named{metadata: kind})
	}
	if kind, ok := inspect.Kind(last); ok && len(parts) > 1 {
		return st.metadataTable(ctx, parts, parts[:len(parts)-1], named{metadata: kind, renamed: true})
	}
	t, err := st.table(ctx, parts)
	return named{table: t}, err
}

// metadataTable resolves a name that is a table's own or, when there is no such table, that of a metadata table of another.
// Errors are about the name as it was written.
func (st *statement) metadataTable(ctx context.Context, parts, of []string, out named) (named, error) {
	t, err := st.table(ctx, parts)
	if err == nil || wire.KindOf(err) != seracv1.FailureKind_FAILURE_KIND_STATEMENT {
		return named{table: t}, err
	}
	base, baseErr := st.table(ctx, of)
	switch {
	case errors.Is(baseErr, catalog.ErrNoTable), errors.Is(baseErr, catalog.ErrNoNamespace):
		return named{}, err
	case baseErr != nil:
		return named{}, baseErr
	}
	out.table = base
	return out, nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// asOf finds the version of a table that an AT clause names.
func asOf(t *catalog.Table, metadata string, at *bind.At) (catalog.Version, error) {
	if metadata != "" && !inspect.OfSnapshot(metadata) {
		return catalog.Version{}, fmt.Errorf("AT picks a snapshot's rows, and the metadata table %s is of the table as a whole", metadata)
	}
	n, err := strconv.ParseInt(at.Value, 10, 64)
	switch {
	case at.Unit == "TIMESTAMP" && err == nil:
		return t.AsOfTime(n)
	case at.Named:
		return t.AsOfRef(at.Value)
	case err != nil: // more digits than an id has
		return catalog.Version{}, fmt.Errorf("%s %s is no version", strings.ToLower(at.Unit), at.Value)
	default:
		return t.AsOfSnapshot(n)
	}
}
