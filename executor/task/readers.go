package task

import (
	"context"
	"fmt"
	"strings"

	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// tableFunction is the SELECT of a call; "" leaves it to the renderer. What a function that reads files may read is decided
// again here, by the executor's own configuration and its own disk. Its columns are found by name and have the types that
// the statement was planned with, whatever the files have become.
func (a *attempt) tableFunction(ctx context.Context, n *plan.TableFunction) (string, error) {
	if fileaccess.KindOf(n.Name) != fileaccess.Reader {
		return "", nil
	}
	if !a.Files.On() {
		return "", wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, fmt.Errorf("executor: %w", fileaccess.Off(n.Name)))
	}
	path, ok := firstConstant(n)
	if !ok {
		return "", fmt.Errorf("%s() without a constant path", n.Name)
	}
	paths, err := a.Files.Check(n.Name, path.Value, func(pattern string, limit int) ([]string, error) {
		// Leaves are resolved at the same time, and a connection runs one statement.
		conn, err := a.Engine.Conn(ctx, nil)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return conn.Glob(ctx, pattern, limit)
	})
	if err != nil {
		return "", wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, fmt.Errorf("executor: %s(): %w", n.Name, err))
	}
	call, err := render.ReaderCall(n, paths.Argument)
	if err != nil {
		return "", err
	}
	columns := make([]string, len(n.Out))
	for i, c := range n.Out {
		columns[i] = fmt.Sprintf("CAST(f.%s AS %s) AS c%d", plan.QuoteIdent(c.Name), c.Type.SQL(), i)
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + call + " AS f", nil
}

func firstConstant(n *plan.TableFunction) (*plan.Constant, bool) {
	if len(n.Args) == 0 {
		return nil, false
	}
	c, ok := n.Args[0].(*plan.Constant)
	return c, ok
}
