package write

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
)

// Table is what a writer needs to know of the table.
type Table struct {
	Schema        *ice.Schema
	Spec          *ice.PartitionSpec // that the write's node names
	Location      string
	FormatVersion int
	Properties    map[string]string
	// Statement is the id of the statement that writes: the names of its files start with it, so that what a lost
	// executor leaves behind can be found (commit.Sweep). Empty: names of no statement.
	Statement string
}

// Writer writes one task attempt's rows.
type Writer struct {
	node       *plan.IcebergWrite
	table      Table
	fields     []iceberg.Field // as written
	partitions []partition
	options    parquetOptions
	metrics    map[int32]metricsMode
}

// New prepares a writer. An error names the column or property that cannot be written.
func New(w *plan.IcebergWrite, t Table) (*Writer, error) {
	fail := func(err error) (*Writer, error) { return nil, fmt.Errorf("write %s: %w", w.TableKey, err) }
	fields, err := written(w.Columns, t.Schema)
	if err != nil {
		return fail(err)
	}
	for i, c := range w.Columns {
		if !c.Type.Equal(fields[i].Type) {
			return fail(fmt.Errorf("column %s: the plan says %s, the table's schema %s", c.Name, c.Type, fields[i].Type))
		}
	}
	for i := range fields {
		if v := iceberg.MinFormatVersion(fields[i].Iceberg); t.FormatVersion < v {
			return fail(fmt.Errorf("column %s: type %s needs format version %d, the table has %d", fields[i].Name, fields[i].Iceberg, v, t.FormatVersion))
		}
	}
	// The plan's terms become the files' partition values, the table's spec is what readers take them for.
	if t.Spec == nil || !slices.Equal(iceberg.PartitionFields(*t.Spec), w.Partition) {
		return fail(fmt.Errorf("partition spec %d of the table is not the plan's", w.SpecID))
	}
	parts, err := partitions(fields, w.Partition)
	if err != nil {
		return fail(err)
	}
	options, err := newParquetOptions(t.Properties)
	if err != nil {
		return fail(err)
	}
	metrics, err := metricsModes(fields, t.Properties)
	if err != nil {
		return fail(err)
	}
	return &Writer{node: w, table: t, fields: fields, partitions: parts, options: options, metrics: metrics}, nil
}

// CopySQL is the COPY of a SELECT (columns c0.. in the order of the node's Columns) into dir, an existing local directory
// that belongs to the attempt alone; a COPY that fails or is interrupted leaves files in it. A partition's rows go to one
// file. The COPY's result rows go to Collect.
func (w *Writer) CopySQL(selectSQL, dir string) (string, error) {
	items := make([]string, 0, len(w.fields)+len(w.partitions))
	ids := make([]string, 0, len(w.fields))
	inputs := make([]string, len(w.fields))
	for i := range w.fields {
		f := &w.fields[i]
		inputs[i] = fmt.Sprintf("c%d", i)
		items = append(items, checked(f, inputs[i])+" AS "+plan.QuoteIdent(f.Name))
		ids = append(ids, fieldID(f))
	}
	var keys []string
	for i, p := range w.partitions {
		key, err := render.Expr(p.key(w.node.Columns), inputs)
		if err != nil {
			return "", fmt.Errorf("partition field %s: %w", p.Name, err)
		}
		name := plan.QuoteIdent(w.keyColumn(i))
		items = append(items, key+" AS "+name)
		keys = append(keys, name)
	}
	options := []string{
		"FORMAT parquet", "RETURN_STATS true", "FIELD_IDS {" + strings.Join(ids, ", ") + "}", "FILENAME_PATTERN 'part-{uuid}'",
		"COMPRESSION " + w.options.codec,
		// Iceberg's writers make Bloom filters only of the columns that a table asks for. DuckDB would make them of all that
		// have dictionaries, and misses BLOBs in them (iceberg/read, unpushed).
		"WRITE_BLOOM_FILTER false",
	}
	if w.options.level != "" {
		options = append(options, "COMPRESSION_LEVEL "+w.options.level)
	}
	if len(keys) > 0 {
		options = append(options, "PARTITION_BY ("+strings.Join(keys, ", ")+")", "WRITE_PARTITION_COLUMNS false",
			fmt.Sprintf("ROW_GROUP_SIZE %d", min(w.options.rowGroupRows, partitionedRowGroupRows)))
	} else {
		options = append(options, fmt.Sprintf("FILE_SIZE_BYTES %d", w.options.fileBytes), fmt.Sprintf("ROW_GROUP_SIZE %d", w.options.rowGroupRows))
	}
	// COPY makes a new directory in dir: it would refuse dir itself if anything else were in there.
	return fmt.Sprintf("COPY (SELECT %s FROM (%s)) TO %s (%s)", strings.Join(items, ", "), selectSQL,
		plan.QuoteString(strings.TrimSuffix(dir, "/")+"/data"), strings.Join(options, ", ")), nil
}

// keyColumn is the name of the i-th partition key's column, which no column of the table has.
func (w *Writer) keyColumn(i int) string {
	name := fmt.Sprintf("p%d", i)
	for again := true; again; {
		again = false
		for j := range w.fields {
			if strings.EqualFold(w.fields[j].Name, name) {
				name, again = name+"_", true
			}
		}
	}
	return name
}

// fieldID is a field's entry in COPY's FIELD_IDS.
func fieldID(f *iceberg.Field) string {
	name := plan.QuoteIdent(f.Name)
	if len(f.Children) == 0 {
		return fmt.Sprintf("%s: %d", name, f.ID)
	}
	parts := []string{fmt.Sprintf("__duckdb_field_id: %d", f.ID)}
	names := childNames(f)
	for i := range f.Children {
		child := f.Children[i]
		child.Name = names[i]
		parts = append(parts, fieldID(&child))
	}
	return name + ": {" + strings.Join(parts, ", ") + "}"
}

// childNames are the names of a field's children as DuckDB has them.
func childNames(f *iceberg.Field) []string {
	switch f.Type.Kind {
	case plan.List:
		return []string{"element"}
	case plan.Map:
		return []string{"key", "value"}
	}
	names := make([]string, len(f.Children))
	for i := range f.Children {
		names[i] = f.Children[i].Name
	}
	return names
}

// parquetOptions are the table's properties for data files.
type parquetOptions struct {
	codec, level string
	rowGroupRows int64
	fileBytes    int64
}

const (
	defaultRowGroupRows = 122880 // DuckDB's
	// partitionedRowGroupRows bounds the rows that each open partition holds in memory.
	partitionedRowGroupRows = 40960
	defaultFileBytes        = 512 << 20 // the specification's write.target-file-size-bytes
)

// codecs are the values of write.parquet.compression-codec as DuckDB spells them.
var codecs = map[string]string{
	"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "brotli": "brotli", "lz4": "lz4_raw", "lz4_raw": "lz4_raw",
	"uncompressed": "uncompressed", "none": "uncompressed",
}

func newParquetOptions(properties map[string]string) (parquetOptions, error) {
	o := parquetOptions{codec: "zstd", rowGroupRows: defaultRowGroupRows, fileBytes: defaultFileBytes}
	if v := properties["write.parquet.compression-codec"]; v != "" {
		codec, ok := codecs[strings.ToLower(v)]
		if !ok {
			return o, fmt.Errorf("property write.parquet.compression-codec: unknown codec %q", v)
		}
		o.codec = codec
	}
	if v := properties["write.parquet.compression-level"]; v != "" && o.codec == "zstd" {
		if _, err := strconv.Atoi(v); err != nil {
			return o, fmt.Errorf("property write.parquet.compression-level: %q is no number", v)
		}
		o.level = v
	}
	for name, to := range map[string]*int64{
		"write.parquet.row-group-limit": &o.rowGroupRows, "write.target-file-size-bytes": &o.fileBytes,
	} {
		if v := properties[name]; v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n <= 0 {
				return o, fmt.Errorf("property %s: %q is no positive number", name, v)
			}
			*to = n
		}
	}
	return o, nil
}
