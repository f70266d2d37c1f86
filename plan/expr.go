package plan

// Expr is a typed scalar expression over the columns of its node's input. The set is closed: every switch over it is
// exhaustive (a test says which switches to extend).
type Expr interface {
	Type() Type
	isExpr()
}

// ColumnRef is the input column at Index (joins: left columns, then right columns).
type ColumnRef struct {
	Index int
	Of    Type
}

// Constant is a literal. Value is nil for NULL, else by kind: bool; int64 (TinyInt to BigInt; Date in days; Time,
// Timestamp and TimestampTZ in microseconds; TimestampS/MS/NS and TimeNS in their unit; TimeTZ in DuckDB's bits);
// uint64 (UTinyInt to UBigInt); *big.Int (HugeInt, UHugeInt; Decimal unscaled); float64 (Float, Double); string (Varchar,
// Enum, and Bit as zeros and ones); []byte (Blob); [16]byte (UUID in text order); IntervalValue; []any (List, Array, Struct
// by field); []MapEntry (Map).
type Constant struct {
	Value any
	Of    Type
}

// IntervalValue is DuckDB's interval: three parts that are kept apart.
type IntervalValue struct {
	Months, Days int32
	Micros       int64
}

// MapEntry is one entry of a Map constant.
type MapEntry struct{ Key, Value any }

// Cast converts Arg to To. Try gives NULL where the conversion fails.
type Cast struct {
	Arg Expr
	To  Type
	Try bool
}

// CompareOp is a comparison.
type CompareOp uint8

// The comparisons.
const (
	Equal CompareOp = iota + 1
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	DistinctFrom
	NotDistinctFrom
)

// Comparison compares Left with Right, three-valued but for [Not]DistinctFrom.
type Comparison struct {
	Op          CompareOp
	Left, Right Expr
}

// Conjunction is AND (or, with Or set, OR) over two or more arguments.
type Conjunction struct {
	Or   bool
	Args []Expr
}

// Operator is one of DuckDB's bound operators that is neither function nor comparison.
type Operator struct {
	Op   OperatorKind
	Args []Expr
	Of   Type
}

// OperatorKind names an Operator.
type OperatorKind uint8

// The operators.
const (
	OpNot OperatorKind = iota + 1
	OpIsNull
	OpIsNotNull
	OpIn    // Args[0] IN (Args[1:])
	OpNotIn // Args[0] NOT IN (Args[1:])
	OpCoalesce
	OpTry // TRY(Args[0]): NULL instead of an error
)

// Between is Low <= Arg <= High, each bound inclusive or not.
type Between struct {
	Arg, Low, High              Expr
	LowInclusive, HighInclusive bool
}

// Case is CASE WHEN .. THEN .. ELSE .. END.
type Case struct {
	Whens []When
	Else  Expr
	Of    Type
}

// When is one branch of a Case.
type When struct{ Cond, Then Expr }

// Call is a scalar function call by DuckDB's name. Names, if any, name the arguments by position (struct_pack's fields;
// "" is unnamed). Params are what the binder erased from the arguments and the renderer must write back, as constants
// after the arguments.
type Call struct {
	Name   string
	Args   []Expr
	Names  []string
	Params []*Constant
	Lambda *Lambda // the lambda of list_transform and kin; nil when none
	Of     Type
}

// Lambda is the lambda argument of a Call. Inside Body, LambdaParam addresses the parameters and ColumnRef the input of
// the node, as outside.
type Lambda struct {
	Params int
	Body   Expr
}

// LambdaParam is a parameter of an enclosing lambda: Depth 0 is the nearest.
type LambdaParam struct {
	Depth, Index int
	Of           Type
}

func (e *ColumnRef) Type() Type   { return e.Of }
func (e *Constant) Type() Type    { return e.Of }
func (e *Cast) Type() Type        { return e.To }
func (e *Comparison) Type() Type  { return T(Boolean) }
func (e *Conjunction) Type() Type { return T(Boolean) }
func (e *Operator) Type() Type    { return e.Of }
func (e *Between) Type() Type     { return T(Boolean) }
func (e *Case) Type() Type        { return e.Of }
func (e *Call) Type() Type        { return e.Of }
func (e *LambdaParam) Type() Type { return e.Of }

func (*ColumnRef) isExpr()   {}
func (*Constant) isExpr()    {}
func (*Cast) isExpr()        {}
func (*Comparison) isExpr()  {}
func (*Conjunction) isExpr() {}
func (*Operator) isExpr()    {}
func (*Between) isExpr()     {}
func (*Case) isExpr()        {}
func (*Call) isExpr()        {}
func (*LambdaParam) isExpr() {}

// SortKey is one ORDER BY term; the null order is always explicit.
type SortKey struct {
	Expr       Expr
	Descending bool
	NullsFirst bool
}

// AggregateCall is an aggregate function by DuckDB's name; the node Aggregate gives it its groups.
type AggregateCall struct {
	Name     string
	Args     []Expr
	Params   []*Constant // erased by the binder: quantiles, separators; written after Args
	Distinct bool
	Filter   Expr // nil when none
	OrderBy  []SortKey
	Of       Type
}

// WindowCall is a window function with its window.
type WindowCall struct {
	Name        string
	Args        []Expr
	Params      []*Constant
	Distinct    bool
	Filter      Expr
	IgnoreNulls bool
	ArgOrder    []SortKey
	PartitionBy []Expr
	OrderBy     []SortKey
	Frame       Frame
	Of          Type
}

// FrameMode is ROWS, RANGE or GROUPS.
type FrameMode uint8

// The frame modes.
const (
	Rows FrameMode = iota + 1
	Range
	Groups
)

// BoundKind is how a frame starts or ends.
type BoundKind uint8

// The frame bounds.
const (
	UnboundedPreceding BoundKind = iota + 1
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// FrameExclude is a frame's EXCLUDE clause.
type FrameExclude uint8

// The EXCLUDE clauses.
const (
	ExcludeNoOthers FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// FrameBound is one end of a frame. DuckDB allows ends of different modes (a CURRENT ROW's mode may differ).
type FrameBound struct {
	Kind   BoundKind
	Offset Expr // Preceding, Following
}

// Frame is a window frame.
type Frame struct {
	Mode       FrameMode
	Start, End FrameBound
	Exclude    FrameExclude
}
