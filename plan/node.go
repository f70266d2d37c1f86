package plan

// Node is a relational operator. The set is closed but for Extension: every switch over it is exhaustive.
// Nodes are immutable once built and may be shared.
type Node interface {
	// Schema is the output columns.
	Schema() Schema
	// Children are the inputs, in order.
	Children() []Node
	// WithChildren is the same node over other inputs of the same schemas; len must match Children.
	WithChildren(children []Node) Node
	isNode()
}

// LeafID names a leaf within a fragment. A task message says for each leaf exactly what it reads; a leaf without an
// assignment reads nothing (rule 11).
type LeafID int32

// StageID names a stage within a job.
type StageID int32

// --- leaves ---

// IcebergScan reads columns of one Iceberg table at one snapshot. The files come with the task's assignment. TableKey
// names the table in the fragment's table list (wire.TableWire). Columns address the table's fields by id; FieldPath
// holds one id.
type IcebergScan struct {
	Leaf       LeafID
	TableKey   string
	SnapshotID int64 // 0: the table has no snapshot, the scan reads nothing
	// AsOf: Columns are of the snapshot's own schema even when it is the current one, in whose place the table's current
	// schema stands otherwise (time travel).
	AsOf    bool
	Columns []ScanColumn
	// Filter, if not nil, is a predicate over the output columns that rows must satisfy. It may only drop rows that the
	// Filter above would drop too.
	Filter Expr
	// EstimatedRows and EstimatedBytes come from the manifests; -1 when unknown.
	EstimatedRows, EstimatedBytes int64
}

// ScanColumn is one column a scan reads. Metadata columns have reserved field ids.
type ScanColumn struct {
	FieldID  int32
	Name     string
	Type     Type
	Nullable bool
}

// MetadataScan reads columns of one of an Iceberg table's metadata tables (package iceberg/inspect): its snapshots, files,
// partitions ... A task that is assigned it makes the rows from the table's metadata and, for some kinds, its manifests. It
// reads the version of the table that TableKey names.
type MetadataScan struct {
	Leaf     LeafID
	TableKey string
	// Kind names the metadata table: snapshots, files, ...
	Kind string
	// SnapshotID is the snapshot whose files the kinds about files show; 0: the table has none, they have no rows.
	SnapshotID int64
	// Columns address the metadata table's fields by id.
	Columns []ScanColumn
	// EstimatedRows is -1 when unknown.
	EstimatedRows int64
}

// Values is rows of constants (or of constant expressions). No rows make an empty relation; a row with no columns is
// DuckDB's dummy scan. It is a leaf: a task that is not assigned it reads no rows.
type Values struct {
	Leaf LeafID
	Rows [][]Expr
	Out  Schema
}

// ShuffleRead reads partitions that the tasks of an earlier stage wrote. Broadcast: every task is assigned all
// partitions.
type ShuffleRead struct {
	Leaf      LeafID
	Stage     StageID
	Broadcast bool
	Out       Schema
	// EstimatedRows and EstimatedBytes are the producing stage's estimates; -1 when unknown.
	EstimatedRows, EstimatedBytes int64
}

// DelimGet is the set of distinct values of the nearest enclosing DelimJoin's keys (the correlated columns).
type DelimGet struct{ Out Schema }

// CTERef reads a common table expression by its index (of CTE or RecursiveCTE). Recurring reads all rows so far of a
// USING KEY recursion.
type CTERef struct {
	Index     int
	Recurring bool
	Out       Schema
}

// Extension is a node of another table format or of an engine builder. It travels as the protobuf message its codec
// makes (package codec finds the codec by the message's full name).
type Extension struct {
	Impl   ExtensionImpl
	Inputs []Node
}

// ExtensionImpl is what an extension node must know about itself.
type ExtensionImpl interface {
	// Name is the full name of the node's protobuf message.
	Name() string
	// Schema is the output columns given the inputs'.
	Schema(inputs []Schema) Schema
	// Explain is one line for people, free of secrets.
	Explain() string
}

// ExtensionLeaf is an extension node without inputs that reads data: a scan of a table of another format. A task says
// which parts of the data it reads (rule 11); a leaf that it does not name reads nothing.
type ExtensionLeaf interface {
	ExtensionImpl
	// LeafID names the leaf within its fragment.
	LeafID() LeafID
}

// --- one input ---

// Filter keeps the rows for which Cond is true.
type Filter struct {
	Input Node
	Cond  Expr
}

// Project computes Exprs; Names name them.
type Project struct {
	Input Node
	Exprs []Expr
	Names []string
}

// Aggregate groups by Groups and computes Calls. Output: groups, then calls, then one BIGINT per entry of Groupings
// (GROUPING of those group positions). Sets lists the grouping sets as group positions; empty means one set of all
// groups. With no groups there is one output row, also over no input rows.
type Aggregate struct {
	Input     Node
	Groups    []Expr
	Sets      [][]int
	Calls     []AggregateCall
	Groupings [][]int
}

// Distinct removes duplicates: whole rows, or (with On) all but the first row by OrderBy of each On key.
type Distinct struct {
	Input   Node
	On      []Expr
	OrderBy []SortKey
}

// Window appends one column per call.
type Window struct {
	Input Node
	Calls []WindowCall
}

// Unnest appends one column per list or struct expression, repeating the input row per element.
type Unnest struct {
	Input Node
	Exprs []Expr
	Types []Type
	Names []string
}

// Sort orders the rows.
type Sort struct {
	Input Node
	Keys  []SortKey
}

// Limit keeps Count rows after skipping Offset; with Keys it is a top-N over that order. Count nil means all.
// Percent: Count is a percentage of the input rows. Count and Offset are constants, or expressions over the input when
// they came from a subquery.
type Limit struct {
	Input         Node
	Keys          []SortKey
	Count, Offset Expr
	Percent       bool
}

// Sample is TABLESAMPLE / USING SAMPLE.
type Sample struct {
	Input      Node
	Method     string // system, bernoulli, reservoir
	Size       Expr   // a constant
	Percentage bool
	Seed       *int64
}

// TableFunction is a call of a table function. With an Input, the leading InputArgs columns of each input row are its
// arguments, and the input columns Kept are appended to its own.
type TableFunction struct {
	Leaf      LeafID // used when Input is nil: it is a leaf then
	Name      string
	Args      []Expr
	NamedArgs []NamedArg
	Input     Node // nil when a leaf
	InputArgs int
	Kept      []int
	Out       Schema
}

// NamedArg is name := value.
type NamedArg struct {
	Name  string
	Value Expr
}

// --- two inputs and more ---

// JoinKind is the kind of a join.
type JoinKind uint8

// The join kinds. Output columns: Inner to Full and Single: left then right; LeftSemi, LeftAnti: left; RightSemi,
// RightAnti: right; Mark: left then one BOOLEAN (three-valued: NULL where NOT IN would be unknown); Single: left outer
// with an error when a left row has two matches.
const (
	Inner JoinKind = iota + 1
	Left
	Right
	Full
	LeftSemi
	LeftAnti
	RightSemi
	RightAnti
	Mark
	Single
)

// Join joins on all of Conds and on Residual. No condition at all makes a cross product.
type Join struct {
	Kind        JoinKind
	Left, Right Node
	Conds       []JoinCond
	// Residual is a further condition over left columns, then right columns; nil when none.
	Residual Expr
	// AsOf: the last inequality of Conds picks the nearest right row. Positional: rows are paired by position.
	AsOf, Positional bool
}

// JoinCond compares an expression over the left columns with one over the right columns.
type JoinCond struct {
	Op    CompareOp
	Left  Expr // over the left input
	Right Expr // over the right input
}

// DelimJoin is a decorrelated subquery: a Join whose one side (the right, or the left when Flipped) contains DelimGets
// that read the distinct values of Keys, columns of the other side.
//
// Lateral says that the plan was not optimised: the other side is to be computed per row of the keys' side (SQL's
// LATERAL), since its keys' side is an unfiltered product that must not be computed for itself.
type DelimJoin struct {
	Join    *Join
	Keys    []int
	Flipped bool
	Lateral bool
}

// SetOp is UNION, EXCEPT or INTERSECT of inputs with the same column types.
type SetOp struct {
	Op     SetKind
	All    bool
	Inputs []Node
}

// SetKind names a set operation.
type SetKind uint8

// The set operations.
const (
	SetUnion SetKind = iota + 1
	SetExcept
	SetIntersect
)

// CTE computes Def once and makes it readable as CTERef Index inside Body.
type CTE struct {
	Index     int
	Name      string
	Def, Body Node
}

// RecursiveCTE is the fixed point of Recursive, starting from Initial. Keys (USING KEY) hold column positions.
type RecursiveCTE struct {
	Index              int
	Name               string
	Initial, Recursive Node
	UnionAll           bool
	Keys               []int
	Out                Schema
}

// --- roots ---

// ShuffleWrite is the root of a stage whose output later stages read: rows are hashed on Keys into Partitions files; no
// Keys means one partition. Partition, if not nil, stands in the place of Keys: it gives each row's partition, an integer
// from 0 to before Partitions. Summarize names input columns, each once, whose values a task reports about when it has
// written them (for join filters); columns of a type for which that is not exact are left out of the report.
type ShuffleWrite struct {
	Input      Node
	Keys       []Expr
	Partition  Expr
	Partitions int
	Summarize  []int
}

// IcebergWrite is the root of a stage that writes data files. Input columns are the table's columns in schema order
// (Columns gives their field ids). Its output is the written files, which travel as wire.DataFile messages.
type IcebergWrite struct {
	Input     Node
	TableKey  string
	Columns   []ScanColumn
	SpecID    int32
	Partition []PartitionField
	// Clustering are expressions over Input that are equal for rows of one partition: the planner brings rows with equal
	// values together, so that few files are written (rule 19). Empty for an unpartitioned table.
	Clustering []Expr
}

// PartitionField is one field of the partition spec written to.
type PartitionField struct {
	SourceID  int32 // field id
	FieldID   int32 // partition field id
	Name      string
	Transform string // as the spec writes it: identity, bucket[16], truncate[4], year, month, day, hour, void
}

// IcebergCommit is the root above IcebergWrite; the scheduler alone executes it.
type IcebergCommit struct {
	Input    Node
	TableKey string
	CommitID string
}

// WholeStatement runs a SELECT as its own text, as DuckDB writes it, in one task. Every table reference of the text has been
// replaced by the name of one of Scans, with an alias behind it. That word stands for nothing else in the text.
type WholeStatement struct {
	SQL   string
	Scans []NamedScan
	Out   Schema
	// MaxRows is how many rows the text asks for at most; 0 when it does not say.
	MaxRows int64
}

// NamedScan is a leaf (an IcebergScan, a MetadataScan, a Values, a TableFunction, an Extension that is a leaf) that a
// WholeStatement's text reads by name.
type NamedScan struct {
	Name string
	Scan Node
}
