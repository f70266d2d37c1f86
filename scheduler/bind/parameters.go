package bind

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/seracdb/serac/plan"
)

// insertTarget stands for the table that a query's rows go into while the types of its parameters are asked for.
const insertTarget = `temp.main."serac insert target"`

// ParameterTypes are the types of the parameters of a query, one entry for each of $1 to the highest, nil where the query does
// not say. into are the columns that the query's rows are inserted into, nil when they are a result: parameters that stand for
// a column's value have its type.
func (b *Binder) ParameterTypes(ctx context.Context, req Request, into plan.Schema) ([]arrow.DataType, error) {
	var out []arrow.DataType
	err := b.use(ctx, func(p *planner) error {
		var err error
		out, err = p.parameterTypes(ctx, req, into)
		return err
	})
	return out, err
}

func (p *planner) parameterTypes(ctx context.Context, req Request, into plan.Schema) (types []arrow.DataType, err error) {
	b, _, err := p.resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	if b.mustRewrite() {
		if err := b.bindRewritten(ctx); err != nil {
			return nil, err
		}
	}
	text := b.text
	if len(into) > 0 {
		columns := make([]string, len(into))
		for i, c := range into {
			columns[i] = plan.QuoteIdent(c.Name) + " " + c.Type.SQL()
		}
		if err := p.conn.Exec(ctx, "CREATE OR REPLACE TEMPORARY TABLE "+insertTarget+" ("+strings.Join(columns, ", ")+")"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.conn.Exec(context.WithoutCancel(ctx), "DROP TABLE "+insertTarget)) }()
		text = "INSERT INTO " + insertTarget + " " + text
	}
	types, err = p.conn.ParameterTypes(ctx, text)
	if err != nil {
		return nil, statementError(err)
	}
	return types, nil
}
