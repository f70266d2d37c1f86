package bind

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/seracdb/serac/plan"
)

// Table is what a Resolver knows of a table: enough to bind statements over it and to order joins.
type Table struct {
	// Catalog, Schema and Name are the table's full name.
	Catalog, Schema, Name string
	// Key names the table in the plan (plan.IcebergScan.TableKey). It changes with the table's metadata: two tables, or
	// two states of one table, never have the same key.
	Key string
	// Columns are all columns of the table in order.
	Columns []plan.ScanColumn
	// Rows and Bytes are estimates for the planner; -1 when unknown.
	Rows, Bytes int64
	// SnapshotID is the snapshot that the scan reads; 0 when the table has none.
	SnapshotID int64
	// AsOf says that the statement asked for the snapshot, and Columns are of the snapshot's own schema.
	AsOf bool
	// Metadata names the metadata table of the table that this is (plan.MetadataScan.Kind); "": it is the table itself.
	Metadata string
	// Renamed says that Metadata came as a further part of the name (orders.snapshots), under which DuckDB would not find it.
	Renamed bool
	// Call, if not nil, makes this no table but a call of a function that reads files. It has no Leaf and no Out.
	Call *plan.TableFunction
}

// stub names what DuckDB sees in the table's place: two that differ in columns have different names.
func (t *Table) stub() string {
	key := t.Key
	if t.AsOf {
		key += fmt.Sprintf("#%d", t.SnapshotID)
	}
	if t.Metadata != "" {
		key += "$" + t.Metadata
	}
	return key
}

// scan is the leaf that reads columns of the table.
func (t *Table) scan(leaf plan.LeafID, columns []plan.ScanColumn) plan.Node {
	if t.Call != nil {
		return t.call(leaf, columns)
	}
	if t.Metadata != "" {
		return &plan.MetadataScan{
			Leaf: leaf, TableKey: t.Key, Kind: t.Metadata, SnapshotID: t.SnapshotID, Columns: columns, EstimatedRows: t.Rows,
		}
	}
	return &plan.IcebergScan{
		Leaf: leaf, TableKey: t.Key, SnapshotID: t.SnapshotID, AsOf: t.AsOf, Columns: columns,
		EstimatedRows: t.Rows, EstimatedBytes: t.Bytes,
	}
}

// Ref is a reference to a base table in the text of a query.
type Ref struct {
	// Parts is the name as written, one to three parts.
	Parts []string
	// At is the time travel clause, if any.
	At *At
}

// String is the name as written.
func (r Ref) String() string { return strings.Join(r.Parts, ".") }

// At is a time travel clause: AT (VERSION => 3), AT (TIMESTAMP => TIMESTAMP '2024-01-01').
type At struct {
	// Unit is VERSION or TIMESTAMP.
	Unit string
	// Value is the value's text: digits of a version, or a name of one; microseconds since 1970 of a timestamp.
	Value string
	// Named says that a VERSION was written as a text, which may name a branch or a tag.
	Named bool
}

// Resolver finds the table behind a reference. It is called once per distinct reference of a statement, for several of
// them at once. A table that does not exist is a *NotFoundError.
type Resolver func(ctx context.Context, ref Ref) (*Table, error)

// NotFoundError says that a table does not exist.
type NotFoundError struct {
	// Name is the table as the user wrote it.
	Name string
	// Err, if not nil, says more.
	Err error
}

func (e *NotFoundError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("table %s does not exist", e.Name)
}

// Unwrap is Err.
func (e *NotFoundError) Unwrap() error { return e.Err }

// Error is a fault of the statement: its syntax, a name in it, its types. Its text is for the user.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Request is a query to bind.
type Request struct {
	// SQL is one SELECT (or VALUES, FROM-first, PIVOT ... whatever DuckDB takes for a query).
	SQL string
	// Catalog and Schema complete the names of fewer than three parts.
	Catalog, Schema string
	// Settings are the session's of duckdb.SessionSettings.
	Settings map[string]string
	// Params replace the statement's parameters ($1 is Params[0]). Without any, the parameters stay: the result's columns
	// are known as far as they do not depend on them, and the plan is not.
	Params []*plan.Constant
	// Resolve finds the tables.
	Resolve Resolver
	// TextOnly says of a statement's tables that it will run whole and that little comes of knowing which of their columns and
	// files it needs. No plan is made then, which takes half of the time, if the text can be run. nil: a plan is made.
	TextOnly func(tables []*Table) bool
}

// Bound is a query that has been bound.
type Bound struct {
	// Plan is the query as a plan; nil when it cannot be expressed, and Reason says why, or when it was not asked for.
	Plan plan.Node
	// Reason says which rung of the ladder was taken and why; "" when Plan is the optimised plan.
	Reason string
	// Columns are the result's columns by their own names. A Plan's root has the same types in the same order, but
	// other names.
	Columns plan.Schema
	// Arrow is the result's schema as DuckDB exports it.
	Arrow *arrow.Schema
	// Whole is the statement as text over its scans, to run in one task. It is nil when the text cannot be rewritten;
	// then Plan is not nil.
	Whole *plan.WholeStatement
	// Tables are the tables that the statement reads, one per distinct reference, and Refs the references.
	Tables []*Table
	Refs   []Ref
	// Repeatable says that the same text gives the same Bound while its tables and the request's settings are the same:
	// nothing of it is of the moment (the clock, the user, time travel) or comes from elsewhere (functions that read files).
	Repeatable bool
	// Params is the number of parameters in the text.
	Params int
}
