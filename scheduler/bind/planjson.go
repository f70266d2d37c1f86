package bind

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// These are the parts of DuckDB's serialized plan that the importer reads. Fields are DuckDB's own; a field of several
// meanings (limit) stays raw.

type planDocument struct {
	Error     bool      `json:"error"`
	ErrorType string    `json:"error_type"`
	Message   string    `json:"error_message"`
	Position  string    `json:"position"`
	Plans     []*opJSON `json:"plans"`
}

type opJSON struct {
	Type     string    `json:"type"`
	Children []*opJSON `json:"children"`

	TableIndex  uint64          `json:"table_index"`
	Expressions json.RawMessage `json:"expressions"`

	// LOGICAL_GET
	Name            string            `json:"name"`
	Names           []string          `json:"names"`
	ReturnedTypes   []typeJSON        `json:"returned_types"`
	ColumnIndexes   []columnIndexJSON `json:"column_indexes"`
	ProjectionIDs   []int             `json:"projection_ids"`
	TableFilters    filtersJSON       `json:"table_filters"`
	Parameters      []valueJSON       `json:"parameters"`
	NamedParameters []namedJSON       `json:"named_parameters"`
	InputTypes      []typeJSON        `json:"input_table_types"`
	ProjectedInput  []int             `json:"projected_input"`
	OrdinalityIndex *uint64           `json:"ordinality_idx"`
	ExtraInfo       extraInfoJSON     `json:"extra_info"`

	// LOGICAL_FILTER, LOGICAL_ORDER_BY
	ProjectionMap []int       `json:"projection_map"`
	Projections   []int       `json:"projections"`
	Orders        []orderJSON `json:"orders"`

	// LOGICAL_AGGREGATE_AND_GROUP_BY
	Groups            []*exprJSON `json:"groups"`
	GroupingSets      [][]int     `json:"grouping_sets"`
	GroupingFunctions [][]int     `json:"grouping_functions"`

	// LOGICAL_DISTINCT
	DistinctType    string        `json:"distinct_type"`
	DistinctTargets []*exprJSON   `json:"distinct_targets"`
	OrderBy         *modifierJSON `json:"order_by"`

	// LOGICAL_LIMIT, LOGICAL_TOP_N
	LimitValue  *limitJSON      `json:"limit_val"`
	OffsetValue *limitJSON      `json:"offset_val"`
	Limit       json.RawMessage `json:"limit"`
	Offset      json.RawMessage `json:"offset"`

	// LOGICAL_SAMPLE
	Sample *sampleJSON `json:"sample_options"`

	// joins
	JoinType            string      `json:"join_type"`
	Conditions          []condJSON  `json:"conditions"`
	Condition           *exprJSON   `json:"condition"`
	Predicate           *exprJSON   `json:"predicate"`
	LeftProjectionMap   []int       `json:"left_projection_map"`
	RightProjectionMap  []int       `json:"right_projection_map"`
	DuplicateEliminated []*exprJSON `json:"duplicate_eliminated_columns"`
	DelimFlipped        bool        `json:"delim_flipped"`

	// set operations and CTEs
	SetOpAll    *bool       `json:"setop_all"`
	CTEIndex    uint64      `json:"cte_index"`
	CTEName     string      `json:"ctename"`
	IsRecurring bool        `json:"is_recurring"`
	UnionAll    bool        `json:"union_all"`
	KeyTargets  []*exprJSON `json:"key_targets"`
	Payload     []*exprJSON `json:"payload_aggregates"`
	BoundNames  []string    `json:"bound_columns"`

	// relations of constants
	ChunkTypes  []typeJSON      `json:"chunk_types"`
	ReturnTypes []typeJSON      `json:"return_types"`
	ExprTypes   []typeJSON      `json:"expr_types"`
	Collection  *collectionJSON `json:"collection"`
}

// exprs are the operator's plain list of expressions.
func (op *opJSON) exprs() ([]*exprJSON, error) {
	var out []*exprJSON
	if len(op.Expressions) == 0 {
		return nil, nil
	}
	err := decode(op.Expressions, &out)
	return out, err
}

type columnIndexJSON struct {
	Index    uint64            `json:"index"`
	Children []json.RawMessage `json:"child_indexes"`
}

type filtersJSON struct {
	Filters []json.RawMessage `json:"filters"`
}

type extraInfoJSON struct {
	FileFilters   string          `json:"file_filters"`
	SampleOptions json.RawMessage `json:"sample_options"`
}

type namedJSON struct {
	Key   string    `json:"key"`
	Value valueJSON `json:"value"`
}

type orderJSON struct {
	Type       string    `json:"type"`
	NullOrder  string    `json:"null_order"`
	Expression *exprJSON `json:"expression"`
}

type modifierJSON struct {
	Orders []orderJSON `json:"orders"`
}

type limitJSON struct {
	Type       string    `json:"type"`
	Integer    uint64    `json:"constant_integer"`
	Percentage float64   `json:"constant_percentage"`
	Expression *exprJSON `json:"expression"`
}

type sampleJSON struct {
	Size       valueJSON `json:"sample_size"`
	Percentage bool      `json:"is_percentage"`
	Method     string    `json:"method"`
	Seed       *int64    `json:"seed"` // negative without REPEATABLE
}

type condJSON struct {
	Left       *exprJSON `json:"left"`
	Right      *exprJSON `json:"right"`
	Comparison string    `json:"comparison"`
}

type collectionJSON struct {
	Types  []typeJSON    `json:"types"`
	Values [][]valueJSON `json:"values"`
}

type bindingJSON struct {
	Table  uint64 `json:"table_index"`
	Column int    `json:"column_index"`
}

type exprJSON struct {
	Class      string      `json:"expression_class"`
	Type       string      `json:"type"`
	Alias      string      `json:"alias"`
	ReturnType typeJSON    `json:"return_type"`
	Children   []*exprJSON `json:"children"`

	Index   int         `json:"index"`   // BOUND_REF
	Binding bindingJSON `json:"binding"` // BOUND_COLUMN_REF
	Depth   int         `json:"depth"`
	Value   *valueJSON  `json:"value"` // BOUND_CONSTANT

	Left  *exprJSON `json:"left"` // BOUND_COMPARISON
	Right *exprJSON `json:"right"`

	Child   *exprJSON `json:"child"` // BOUND_CAST, BOUND_UNNEST
	TryCast bool      `json:"try_cast"`

	Input          *exprJSON `json:"input"` // BOUND_BETWEEN
	Lower          *exprJSON `json:"lower"`
	Upper          *exprJSON `json:"upper"`
	LowerInclusive bool      `json:"lower_inclusive"`
	UpperInclusive bool      `json:"upper_inclusive"`

	CaseChecks []caseJSON `json:"case_checks"` // BOUND_CASE
	ElseExpr   *exprJSON  `json:"else_expr"`

	// functions, aggregates and windows
	Name              string            `json:"name"`
	OriginalArguments []typeJSON        `json:"original_arguments"`
	FunctionData      *functionDataJSON `json:"function_data"`
	AggregateType     string            `json:"aggregate_type"`
	Filter            *exprJSON         `json:"filter"`
	OrderBys          *modifierJSON     `json:"order_bys"`

	Partitions  []*exprJSON     `json:"partitions"`
	Orders      []orderJSON     `json:"orders"`
	ArgOrders   []orderJSON     `json:"arg_orders"`
	Filters     json.RawMessage `json:"filters"`
	IgnoreNulls bool            `json:"ignore_nulls"`
	Distinct    bool            `json:"distinct"`
	Start       string          `json:"start"`
	End         string          `json:"end"`
	StartExpr   *exprJSON       `json:"start_expr"`
	EndExpr     *exprJSON       `json:"end_expr"`
	OffsetExpr  *exprJSON       `json:"offset_expr"`
	DefaultExpr *exprJSON       `json:"default_expr"`
	Exclude     string          `json:"exclude_clause"`
}

type caseJSON struct {
	When *exprJSON `json:"when_expr"`
	Then *exprJSON `json:"then_expr"`
}

// functionDataJSON is what a function's binder kept of its arguments, by function.
type functionDataJSON struct {
	Separator  *string           `json:"separator"`
	Quantiles  []json.RawMessage `json:"quantiles"`
	Desc       bool              `json:"desc"`
	SampleSize *uint64           `json:"sample_size"`
	Min        *valueJSON        `json:"min"`
	Max        *valueJSON        `json:"max"`
	PartCodes  []string          `json:"part_codes"`
	BindData   *struct {
		AggrExpr *exprJSON `json:"aggr_expr"`
	} `json:"bind_data"`
	LambdaExpr *exprJSON `json:"lambda_expr"`
	HasIndex   bool      `json:"has_index"`
	HasInitial bool      `json:"has_initial"`
}

type valueJSON struct {
	Type   typeJSON        `json:"type"`
	IsNull bool            `json:"is_null"`
	Value  json.RawMessage `json:"value"`
}

type childrenJSON struct {
	Children []valueJSON `json:"children"`
}

type typeJSON struct {
	ID   string        `json:"id"`
	Info *typeInfoJSON `json:"type_info"`
}

type typeInfoJSON struct {
	Alias      string          `json:"alias"`
	Width      uint8           `json:"width"`
	Scale      uint8           `json:"scale"`
	Size       uint32          `json:"size"`
	ChildType  *typeJSON       `json:"child_type"`
	ChildTypes []childTypeJSON `json:"child_types"`
	Values     []string        `json:"values"`
}

type childTypeJSON struct {
	First  string   `json:"first"`
	Second typeJSON `json:"second"`
}

// decode reads JSON whose integers go to 2^64-1.
func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	return nil
}

// quoteBareNumbers makes valid JSON of DuckDB's, which writes NaN and the infinities as bare words.
func quoteBareNumbers(text []byte) []byte {
	if !bytes.Contains(text, []byte(":NaN")) && !bytes.Contains(text, []byte("Infinity")) && !bytes.Contains(text, []byte("[NaN")) &&
		!bytes.Contains(text, []byte(",NaN")) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString {
			out = append(out, c)
			if c == '\\' && i+1 < len(text) {
				i++
				out = append(out, text[i])
			} else if c == '"' {
				inString = false
			}
			continue
		}
		word := ""
		for _, w := range []string{"NaN", "-Infinity", "Infinity"} {
			if bytes.HasPrefix(text[i:], []byte(w)) {
				word = w
				break
			}
		}
		if word != "" {
			out = append(append(append(out, '"'), word...), '"')
			i += len(word) - 1
			continue
		}
		inString = c == '"'
		out = append(out, c)
	}
	return out
}
