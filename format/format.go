package format

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// Format is a table format. Its methods are safe for concurrent use.
type Format interface {
	// Name is the type of the format's catalogs in the configuration.
	Name() string
	// Codec is the codec of the plan's leaf that reads a table. Scheduler and executors must have it in the same version.
	Codec() codec.Extension
	// Split is an empty message of the kind that the splits of Table.Plan are. It belongs to the codec: a change that a
	// reader must not ignore raises the codec's version.
	Split() proto.Message
	// Open opens a catalog, on the scheduler. An error ends the process, and must hold no secret.
	Open(ctx context.Context, c Config) (Catalog, error)
	// SQL is, on an executor, the SELECT in DuckDB's dialect that reads the splits, with the leaf's columns in order, named
	// c0, c1 and so on, of exactly the leaf's types. What it is given has travelled: it must be checked.
	SQL(ctx context.Context, r Read) (string, error)
}

// Config is one [catalogs.NAME] of the configuration.
type Config struct {
	// Name is the catalog's name in SQL.
	Name string
	// Properties are the section's keys but type. They stay on the scheduler.
	Properties map[string]wire.Secret
}

// The errors by which a catalog says what is not there. Wrap them in text that names the thing.
var (
	ErrNoSchema = errors.New("schema does not exist")
	ErrNoTable  = errors.New("table does not exist")
)

// Catalog is the tables of a format in one place. They are read only. It is safe for concurrent use.
type Catalog interface {
	// Schemas are the names of the schemas.
	Schemas(ctx context.Context) ([]string, error)
	// Tables are the names of a schema's tables. Without such a schema it is ErrNoSchema.
	Tables(ctx context.Context, schema string) ([]string, error)
	// Load is a table as it is now, which stays as it is for the statement that loads it. Without such a table it is
	// ErrNoTable or ErrNoSchema.
	Load(ctx context.Context, schema, table string) (Table, error)
	// Close releases what the catalog holds.
	Close() error
}

// Table is one version of a table.
type Table interface {
	// Version tells this version of the table from others: a snapshot's id, a checksum.
	Version() string
	// Columns are the table's columns.
	Columns() plan.Schema
	// Rows and Bytes estimate the table's size; -1 when unknown.
	Rows() int64
	Bytes() int64
	// Plan says what a scan reads. It is called once for each time that a statement reads the table.
	Plan(ctx context.Context, s Scan) (*Planned, error)
}

// Scan is what a statement wants of a table.
type Scan struct {
	// Leaf is the id that the plan's leaf must have.
	Leaf plan.LeafID
	// Columns are the positions of the columns in Table.Columns, at least one.
	Columns []int
	// Filter, if not nil, is true of every row that the statement can need, as an expression over the scan's columns. It may
	// be used to leave splits out, and need not be: the statement filters again. It consists of comparisons, IN, BETWEEN and
	// IS [NOT] NULL of columns and constants of the same type, under AND and OR.
	Filter plan.Expr
}

// Planned is a scan that has been planned.
type Planned struct {
	// Leaf stands for the scan in the plan. Its schema is the scan's columns.
	Leaf plan.ExtensionLeaf
	// Splits are the parts of the table that the scan reads. Each row is in one of them.
	Splits []Split
}

// Split is a part of a table that one task reads. Tasks are given splits in their order, several or one each.
type Split struct {
	// Message says where the part is; of the kind of Format.Split. It should stay well below 1 MiB.
	Message proto.Message
	// Rows and Bytes are the part's size; 0 when unknown. Bytes decide how much a task is given.
	Rows, Bytes int64
}

// Read is what a task reads of a table.
type Read struct {
	// Leaf is the leaf as the codec decoded it.
	Leaf plan.ExtensionLeaf
	// Splits are the messages of the splits, at least one.
	Splits []proto.Message
	// Local gives the path at which DuckDB may read a local file, which is a plain path or a file: URL: DuckDB is closed to
	// all others. The file must not change as long as tables name it.
	Local func(ctx context.Context, location string) (string, error)
	// TempDir is the task's own directory, which DuckDB may read: for what the format fetches or writes itself. It goes with
	// the task.
	TempDir string
}
