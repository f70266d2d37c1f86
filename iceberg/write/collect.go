package write

import (
	"errors"
	"fmt"
	"math/big"
	"os"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/internal/duckdb"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// The columns of a COPY's RETURN_STATS row.
const (
	statFilename = iota
	statCount
	statFileBytes
	statFooterBytes
	statColumns
	statPartitionKeys
	statWidth
)

// Collect makes data files of the rows that the COPY returned. Their paths are local still. Files without rows are removed.
func (w *Writer) Collect(rows [][]any) ([]*seracv1.DataFile, error) {
	var out []*seracv1.DataFile
	for _, row := range rows {
		f, err := w.dataFile(row)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", w.node.TableKey, err)
		}
		if f != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

func (w *Writer) dataFile(row []any) (*seracv1.DataFile, error) {
	if len(row) != statWidth {
		return nil, fmt.Errorf("COPY returned %d columns, expected %d", len(row), statWidth)
	}
	path, ok := row[statFilename].(string)
	if !ok {
		return nil, fmt.Errorf("COPY returned a %T as a file's name", row[statFilename])
	}
	count, err := number(row[statCount])
	if err != nil {
		return nil, fmt.Errorf("rows of %s: %w", path, err)
	}
	if count == 0 {
		return nil, os.Remove(path)
	}
	size, err := number(row[statFileBytes])
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", path, err)
	}
	f := &seracv1.DataFile{Path: path, RecordCount: count, SizeBytes: size, SpecId: w.node.SpecID,
		SchemaId: int32(w.table.Schema.ID), FormatVersion: int32(w.table.FormatVersion)}
	footer, err := object.ReadLocalFooter(path)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	if footer.GetNumRows() != count {
		return nil, fmt.Errorf("data file %s has %d rows, COPY says %d", path, footer.GetNumRows(), count)
	}
	if err := w.addStatistics(f, footer, nanColumns(row[statColumns])); err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	if f.Partition, err = w.partitionValues(path, row[statPartitionKeys]); err != nil {
		return nil, fmt.Errorf("data file %s: %w", path, err)
	}
	return f, nil
}

func number(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case uint64:
		return int64(v), nil
	case *big.Int:
		return v.Int64(), nil
	default:
		return 0, fmt.Errorf("COPY returned a %T", v)
	}
}

// nanColumns says of each float column, by path, whether it holds NaN.
func nanColumns(statistics any) map[string]bool {
	out := make(map[string]bool)
	columns, _ := statistics.([]duckdb.MapEntry)
	for _, column := range columns {
		values, _ := column.Value.([]duckdb.MapEntry)
		for _, value := range values {
			if path, ok := column.Key.(string); ok && value.Key == "has_nan" {
				out[path] = value.Value != "false"
			}
		}
	}
	return out
}

func quoteStat(name string) string {
	out := make([]byte, 0, len(name)+2)
	out = append(out, '"')
	for i := range len(name) {
		if name[i] == '"' {
			out = append(out, '"')
		}
		out = append(out, name[i])
	}
	return string(append(out, '"'))
}

// partitionValues are a file's partition values by partition field id.
func (w *Writer) partitionValues(path string, keys any) (map[int32][]byte, error) {
	if len(w.partitions) == 0 {
		return nil, nil
	}
	byName := make(map[string]any)
	entries, _ := keys.([]duckdb.MapEntry)
	for _, e := range entries {
		if name, ok := e.Key.(string); ok {
			byName[name] = e.Value
		}
	}
	out := make(map[int32][]byte)
	for i, p := range w.partitions {
		key, ok := byName[w.keyColumn(i)].(string)
		if !ok {
			return nil, fmt.Errorf("COPY returned no key of partition field %s", p.Name)
		}
		value, hashed, err := decodeKey(key, p.result)
		if err == nil && hashed {
			value, err = p.valueInFile(path)
		}
		if err != nil {
			return nil, fmt.Errorf("partition field %s: %w", p.Name, err)
		}
		if value != nil {
			out[p.FieldID] = value
		}
	}
	return out, nil
}

// valueInFile is the partition value of a file whose rows all have it: that of its first row. It serves strings and
// binaries too long for a key.
func (p partition) valueInFile(path string) ([]byte, error) {
	reader, err := file.OpenParquetFile(path, false)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for c := range reader.MetaData().Schema.NumColumns() {
		if reader.MetaData().Schema.Column(c).SchemaNode().FieldID() != p.source.field.ID {
			continue
		}
		column, err := reader.RowGroup(0).Column(c)
		if err != nil {
			return nil, err
		}
		chunk, ok := column.(*file.ByteArrayColumnChunkReader)
		if !ok {
			return nil, fmt.Errorf("column of type %s has a hashed key", column.Type())
		}
		values, levels := make([]parquet.ByteArray, 1), make([]int16, 1)
		_, n, err := chunk.ReadBatch(1, values, levels, nil)
		if err != nil {
			return nil, err
		}
		if n != 1 {
			return nil, errors.New("the first row has no value")
		}
		_, text := p.source.field.Iceberg.(ice.StringType)
		value := append([]byte{}, values[0]...)
		if t, ok := p.transform.(ice.TruncateTransform); ok {
			value = truncateBytes(value, t.Width, text)
		}
		var v any = value
		if text {
			v = string(value)
		}
		return iceberg.EncodeValue(p.result, v)
	}
	return nil, fmt.Errorf("no column has field id %d", p.source.field.ID)
}
