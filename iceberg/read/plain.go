package read

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/plan"
)

// With a schema argument, DuckDB looks into no file while it plans. It then knows no statistics of the columns, and of a
// single file it does not know the row groups either, by which it decides how many threads read it: often one. So a file
// that is read alone is read without the argument, when its footer shows that its own names and types give what the
// schema would. Of several files DuckDB has no statistics either way, and takes all threads.

// plain changes how a class is read that has a single file, if that file's columns are the table's. The file is known to
// have them by their field ids; the names are those that the file gives them.
func (r *reader) plain(ctx context.Context, c *class) error {
	if len(c.files) != 1 {
		return nil
	}
	f := c.files[0]
	if f.footer == nil {
		var err error
		if r.in.Footer != nil {
			f.footer, err = r.in.Footer(ctx, f.task.GetPath())
		} else {
			f.footer, err = object.ReadLocalFooter(f.local)
		}
		if err != nil {
			return fmt.Errorf("data file %s: %w", f.task.GetPath(), err)
		}
	}
	if exprs, ok := r.plainExprs(f.footer); ok {
		c.shape = &shape{plain: true, exprs: exprs}
	}
	return nil
}

// plainExprs are the sources as SQL over the columns of a file as DuckDB reads it by itself; false where that could differ
// from what the table's schema says.
func (r *reader) plainExprs(footer *metadata.FileMetaData) (exprs []string, ok bool) {
	if footer.KeyValueMetadata().FindValue("geo") != nil {
		return nil, false // GeoParquet: DuckDB may take columns of bytes for geometries
	}
	root := footer.Schema.Root()
	columns, _ := fileColumns(footer, r.in.NameMapping)
	byID, names := map[int32]schema.Node{}, map[string]bool{}
	for i := range root.NumFields() {
		n := root.Field(i)
		name := strings.ToLower(n.Name())
		if name == "" || names[name] || virtualColumns[name] {
			return nil, false // DuckDB renames one of two names that it takes for the same
		}
		names[name] = true
		if id := n.FieldID(); id >= 0 {
			if byID[id] != nil {
				return nil, false
			}
			byID[id] = n
		}
	}
	exprs = make([]string, len(r.columns.sources))
	for i, src := range r.columns.sources {
		n := byID[src.id]
		if n == nil || src.field == nil {
			return nil, false
		}
		// Names and types do not show that a field inside has been dropped and another one has its name.
		if len(src.field.Children) > 0 && !plainNames(src.field.Children, find(columns, src.id)) {
			return nil, false
		}
		if t, ok := fileType(n); !ok || !t.Equal(src.typ) {
			return nil, false
		}
		// The cast changes nothing: it says what the types are held to be.
		exprs[i] = fmt.Sprintf("CAST(f.%s AS %s)", plan.QuoteIdent(n.Name()), src.typ.SQL())
	}
	return exprs, true
}

// virtualColumns are columns that DuckDB adds to those of a file.
var virtualColumns = map[string]bool{
	"filename": true, "file_index": true, "file_row_number": true, "file_row_group_number": true, "rowid": true,
}

// fileType is the type that DuckDB reads a Parquet column as; false for all but the usual ones.
func fileType(n schema.Node) (plan.Type, bool) {
	if n.RepetitionType() == parquet.Repetitions.Repeated {
		return plan.Type{}, false
	}
	switch n := n.(type) {
	case *schema.PrimitiveNode:
		return fileLeafType(n)
	case *schema.GroupNode:
		return fileGroupType(n)
	}
	return plan.Type{}, false
}

func fileLeafType(n *schema.PrimitiveNode) (plan.Type, bool) {
	physical := n.PhysicalType()
	switch logical := n.LogicalType().(type) {
	case schema.NoLogicalType, nil:
		kind, ok := map[parquet.Type]plan.Kind{
			parquet.Types.Boolean: plan.Boolean, parquet.Types.Int32: plan.Integer, parquet.Types.Int64: plan.BigInt,
			parquet.Types.Float: plan.Float, parquet.Types.Double: plan.Double, parquet.Types.ByteArray: plan.Blob,
		}[physical]
		return plan.T(kind), ok && n.ConvertedType() == schema.ConvertedTypes.None
	case schema.IntLogicalType:
		switch {
		case logical.IsSigned() && logical.BitWidth() == 32:
			return plan.T(plan.Integer), physical == parquet.Types.Int32
		case logical.IsSigned() && logical.BitWidth() == 64:
			return plan.T(plan.BigInt), physical == parquet.Types.Int64
		}
	case schema.StringLogicalType:
		return plan.T(plan.Varchar), physical == parquet.Types.ByteArray
	case schema.DateLogicalType:
		return plan.T(plan.Date), physical == parquet.Types.Int32
	case schema.DecimalLogicalType:
		return plan.DecimalType(uint8(logical.Precision()), uint8(logical.Scale())), logical.Precision() <= 38
	case schema.TimestampLogicalType:
		kind := plan.Timestamp
		if logical.IsAdjustedToUTC() {
			kind = plan.TimestampTZ
		}
		return plan.T(kind), physical == parquet.Types.Int64 && logical.TimeUnit() == schema.TimeUnitMicros
	}
	return plan.Type{}, false
}

// fileGroupType is the type of a struct, or of a list in the form that the Parquet specification asks for.
func fileGroupType(n *schema.GroupNode) (plan.Type, bool) {
	switch n.LogicalType().(type) {
	case schema.ListLogicalType:
		if n.NumFields() != 1 {
			return plan.Type{}, false
		}
		list, ok := n.Field(0).(*schema.GroupNode)
		if !ok || list.NumFields() != 1 || list.Name() != "list" || list.Field(0).Name() != "element" {
			return plan.Type{}, false
		}
		elem, ok := fileType(list.Field(0))
		return plan.ListType(elem), ok
	case schema.NoLogicalType, nil:
		t := plan.Type{Kind: plan.Struct}
		for i := range n.NumFields() {
			field, ok := fileType(n.Field(i))
			if !ok {
				return plan.Type{}, false
			}
			t.Fields = append(t.Fields, plan.Field{Name: n.Field(i).Name(), Type: field})
		}
		return t, len(t.Fields) > 0
	}
	return plan.Type{}, false
}
