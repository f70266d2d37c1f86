package sql

import "strings"

// Statement is one parsed statement: one of the types below.
type Statement interface{ isStatement() }

// Name is a name of one to three parts: [[catalog.]schema.]table, or for a schema [catalog.]schema.
type Name []string

// String quotes each part as DuckDB reads an identifier.
func (n Name) String() string {
	quoted := make([]string, len(n))
	for i, part := range n {
		quoted[i] = quoteIdent(part)
	}
	return strings.Join(quoted, ".")
}

func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// Query is whatever DuckDB parses as a SELECT: SELECT, WITH, VALUES, FROM, TABLE, PIVOT, UNPIVOT, SUMMARIZE, DESCRIBE
// of a query, or any of them in parentheses.
type Query struct {
	Text string // as it stands, without comments and spaces around it
}

// CreateSchema is CREATE SCHEMA.
type CreateSchema struct {
	Name        Name // one or two parts
	IfNotExists bool
	Properties  map[string]string
}

// DropSchema is DROP SCHEMA.
type DropSchema struct {
	Name     Name // one or two parts
	IfExists bool
	Cascade  bool
}

// TableOptions are the clauses that follow the columns of a CREATE TABLE.
type TableOptions struct {
	PartitionedBy []PartitionTerm
	Location      string            // "" when not given
	Comment       string            // "" when not given
	Properties    map[string]string // never nil
}

// CreateTable is CREATE TABLE with a list of columns.
type CreateTable struct {
	Name        Name
	IfNotExists bool
	OrReplace   bool
	Columns     []Column
	TableOptions
}

// CreateTableAs is CREATE TABLE ... AS query.
type CreateTableAs struct {
	Name        Name
	IfNotExists bool
	OrReplace   bool
	Columns     []string // the names to give to the query's columns; nil to keep its own
	Query       string
	NoData      bool // WITH NO DATA: the table is made, the query does not run
	TableOptions
}

// Column is a column of a CREATE TABLE.
type Column struct {
	Name     string
	Type     Type
	TypeText string // Type as DuckDB reads it
	NotNull  bool
	Comment  string
	Default  string // the expression's text; "" when not given
}

// PartitionTerm is one term of PARTITIONED BY.
type PartitionTerm struct {
	Transform string   // identity, bucket, truncate, year, month, day, hour or void
	Param     int      // buckets of bucket, width of truncate, otherwise 0
	Column    []string // the column's name, or the path to a field within it
}

// DropTable is DROP TABLE.
type DropTable struct {
	Name     Name
	IfExists bool
	Purge    bool // also delete the table's files
}

// Insert is INSERT INTO, or INSERT OVERWRITE.
type Insert struct {
	Table         Name
	Columns       []string // nil when not given
	ByName        bool     // the query's columns are matched by name
	DefaultValues bool     // DEFAULT VALUES: no Query
	Query         string   // a WITH clause before INSERT is put in front of it
	Overwrite     bool
}

// ShowCatalogs is SHOW CATALOGS or SHOW DATABASES.
type ShowCatalogs struct {
	Like *string // a LIKE pattern; nil for all
}

// ShowSchemas is SHOW SCHEMAS [FROM catalog].
type ShowSchemas struct {
	Catalog string  // "" for the session's
	Like    *string // a LIKE pattern; nil for all
}

// ShowTables is SHOW TABLES [FROM schema], SHOW ALL TABLES, or DESCRIBE alone.
type ShowTables struct {
	Schema Name    // one or two parts; nil for the session's
	All    bool    // of all catalogs and schemas
	Like   *string // a LIKE pattern; nil for all
}

// Describe is DESCRIBE table, SHOW COLUMNS FROM table or SHOW table.
type Describe struct{ Table Name }

// The formats of EXPLAIN.
const (
	ExplainText = "text"
	ExplainJSON = "json"
	// ExplainSubstrait is the undistributed plan as Substrait's JSON.
	ExplainSubstrait = "substrait_json"
)

// Explain is EXPLAIN [ANALYZE] statement.
type Explain struct {
	Analyze   bool
	Format    string // ExplainText, ExplainJSON or ExplainSubstrait
	Statement Statement
}

// Set is SET name = value.
type Set struct {
	Name  string // dotted when it has several parts
	Value string // a string literal's value, otherwise the value's text
}

// Reset is RESET name or SET name = DEFAULT.
type Reset struct{ Name string }

// Use is USE [catalog.]schema, or USE catalog.
type Use struct{ Name Name }

// Unsupported is a statement that is recognised and not run by Serac.
type Unsupported struct {
	Head string // its leading keywords, such as UPDATE or CREATE VIEW
}

func (*Query) isStatement()         {}
func (*CreateSchema) isStatement()  {}
func (*DropSchema) isStatement()    {}
func (*CreateTable) isStatement()   {}
func (*CreateTableAs) isStatement() {}
func (*DropTable) isStatement()     {}
func (*Insert) isStatement()        {}
func (*ShowCatalogs) isStatement()  {}
func (*ShowSchemas) isStatement()   {}
func (*ShowTables) isStatement()    {}
func (*Describe) isStatement()      {}
func (*Explain) isStatement()       {}
func (*Set) isStatement()           {}
func (*Reset) isStatement()         {}
func (*Use) isStatement()           {}
func (*Unsupported) isStatement()   {}
