package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// maker makes the rows of a kind.
type maker interface {
	// columns are the kind's columns for a table. They come from its metadata alone.
	columns(t *table.Table) ([]plan.ScanColumn, error)
	// rows gives the wanted columns of every row. The table's current snapshot is the one that the kinds of one snapshot
	// are about.
	rows(ctx context.Context, t *table.Table, wanted []string, emit func([]any) error) error
}

// kind is one metadata table.
type kind struct {
	name string
	// ofSnapshot: the rows are those of one snapshot, not of the table as a whole.
	ofSnapshot bool
	maker
}

// kinds are in the order in which they are listed to users.
var kinds = []kind{
	{"snapshots", false, rowsOf{table.SnapshotsSchema, snapshots}},
	{"history", false, ready{table.HistorySchema, table.InspectTable.History}},
	{"refs", false, ready{table.RefsSchema, table.InspectTable.Refs}},
	{"metadata_log_entries", false, ready{table.MetadataLogEntriesSchema, table.InspectTable.MetadataLogEntries}},
	{"properties", false, rowsOf{propertiesSchema, properties}},
	{"manifests", true, ready{table.ManifestsSchema, table.InspectTable.Manifests}},
	{"all_manifests", false, ready{table.AllManifestsSchema, table.InspectTable.AllManifests}},
	{"partitions", true, partitions{reach{wants: everyManifest}}},
	{"files", true, files{reach{wants: everyManifest}}},
	{"data_files", true, files{reach{wants: dataManifest}}},
	{"delete_files", true, files{reach{wants: deleteManifest}}},
	{"all_files", false, files{reach{all: true, wants: everyManifest}}},
	{"all_data_files", false, files{reach{all: true, wants: dataManifest}}},
	{"all_delete_files", false, files{reach{all: true, wants: deleteManifest}}},
	{"entries", true, entries{reach{deleted: true, wants: everyManifest}}},
	{"all_entries", false, entries{reach{all: true, deleted: true, wants: everyManifest}}},
}

// ready is a kind that iceberg-go makes as it should be. These have one row for each snapshot, log entry or manifest.
type ready struct {
	of   func() *ice.Schema
	read func(table.InspectTable, context.Context) (array.RecordReader, error)
}

func (r ready) columns(*table.Table) ([]plan.ScanColumn, error) { return iceberg.Columns(r.of()) }

// rowsOf is a kind whose rows come from the metadata, all columns in order.
type rowsOf struct {
	of   func() *ice.Schema
	make func(t *table.Table, emit func(cells ...any) error) error
}

func (r rowsOf) columns(*table.Table) ([]plan.ScanColumn, error) { return iceberg.Columns(r.of()) }

func (r rowsOf) rows(ctx context.Context, t *table.Table, wanted []string, emit func([]any) error) error {
	positions := make([]int, len(wanted))
	fields := r.of().Fields()
	for i, name := range wanted {
		positions[i] = slices.IndexFunc(fields, func(f ice.NestedField) bool { return f.Name == name })
		if positions[i] < 0 {
			return fmt.Errorf("there is no column %s", name)
		}
	}
	return r.make(t, func(cells ...any) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row := make([]any, len(wanted))
		for i, p := range positions {
			row[i] = cells[p]
		}
		return emit(row)
	})
}

func find(name string) (kind, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, fmt.Errorf("there is no metadata table %q: there are %s", name, strings.Join(Kinds(), ", "))
	}
	return kinds[i], nil
}

// Kinds are the names of the metadata tables.
func Kinds() []string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = k.name
	}
	return out
}

// Kind is the metadata table that a word names, in any case; false when it names none.
func Kind(word string) (string, bool) {
	word = strings.ToLower(word)
	_, err := find(word)
	return word, err == nil
}

// OfSnapshot says that the rows of a metadata table are those of one snapshot, so that an older one can be asked for.
func OfSnapshot(name string) bool {
	k, err := find(name)
	return err == nil && k.ofSnapshot
}

// Columns are the columns of a table's metadata table. It reads no file.
func Columns(t *table.Table, name string) ([]plan.ScanColumn, error) {
	k, err := find(name)
	if err != nil {
		return nil, err
	}
	columns, err := k.columns(t)
	if err != nil {
		return nil, fmt.Errorf("metadata table %s: %w", name, err)
	}
	return columns, nil
}

// withoutSnapshots is metadata in which a table has never been written to.
type withoutSnapshots struct{ table.Metadata }

func (withoutSnapshots) CurrentSnapshot() *table.Snapshot { return nil }

// partitionType is the type of the partitions of all the table's files, nil when it has never been partitioned. iceberg-go
// does not tell it but in the type of the rows, and reading those of a table without snapshots opens no file.
func partitionType(t *table.Table) (*ice.StructType, error) {
	empty := table.New(t.Identifier(), withoutSnapshots{t.Metadata()}, t.MetadataLocation(), nil, nil)
	rows, err := empty.Inspect().Files(context.Background())
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	schema, err := table.ArrowSchemaToIceberg(rows.Schema(), false, nil)
	if err != nil {
		return nil, err
	}
	field, ok := schema.FindFieldByName("partition")
	if !ok {
		return nil, nil
	}
	partition, ok := field.Type.(*ice.StructType)
	if !ok {
		return nil, fmt.Errorf("a partition of type %s", field.Type)
	}
	return partition, nil
}

// Rows estimates the number of rows of a metadata table from the metadata alone; -1 when it does not tell.
func Rows(t *table.Table, name string, snapshotID int64) int64 {
	switch name {
	case "snapshots":
		return int64(len(t.Metadata().Snapshots()))
	case "properties":
		return int64(len(t.Properties()))
	case "files", "data_files", "entries":
		s := t.SnapshotByID(snapshotID)
		if s == nil {
			return 0
		}
		if s.Summary != nil {
			if n, err := strconv.ParseInt(s.Summary.Properties["total-data-files"], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
