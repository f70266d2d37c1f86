package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/sql"
)

// explainSubstrait shows a query's undistributed plan as Substrait's JSON.
func (st *statement) explainSubstrait(ctx context.Context, p *sql.Explain) (engine.Execution, error) {
	query, ok := p.Statement.(*sql.Query)
	if !ok || p.Analyze {
		return nil, statementError("EXPLAIN (FORMAT SUBSTRAIT_JSON) is for queries, without ANALYZE")
	}
	return st.background(ctx, true, explainSchema, func(ctx context.Context, _ *taskExecution) (rows, int64, error) {
		bound, err := st.bind(ctx, query.Text)
		if err != nil {
			return nil, 0, err
		}
		if bound.Plan == nil {
			return nil, 0, statementError("the plan cannot express it: %s", bound.Reason)
		}
		text, err := codec.SubstraitJSON(bound.Plan, bound.Columns.Names(), func(key string) (codec.ExportedTable, error) {
			t, ok := st.tables.byKey(key)
			if !ok {
				return codec.ExportedTable{}, fmt.Errorf("table %s is not pinned", key)
			}
			return codec.ExportedTable{Names: slices.Clone(t.Identifier()), Columns: t.Columns()}, nil
		})
		if err != nil {
			return nil, 0, err
		}
		return textRows(explainSchema, [][]*string{{&text}}), 0, nil
	}), nil
}
