package bind

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/tests/tpch"
)

// rungs counts how far down the ladder a corpus goes.
type rungs struct{ total, optimised, bound, whole, noText, nonEmpty int }

func (c rungs) String() string {
	return fmt.Sprintf("%d statements: %d optimised, %d as bound, %d only whole; %d without text; %d with rows", c.total, c.optimised, c.bound,
		c.whole, c.noText, c.nonEmpty)
}

// check binds a statement, and compares its answer with those of its plan and of its text over scans.
func (r *reference) check(t *testing.T, b *Binder, sql string, c *rungs) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c.total++
	bound, err := b.Bind(ctx, r.request(sql))
	require.NoError(t, err, sql)
	want := r.run(ctx, sql)
	if len(want.rows) > 0 {
		c.nonEmpty++
	}
	switch {
	case bound.Plan == nil:
		c.whole++
		t.Logf("whole: %s\n%s", bound.Reason, firstLine(sql))
	case strings.HasPrefix(bound.Reason, "optimised plan"):
		c.bound++
		t.Logf("as bound: %s\n%s", bound.Reason, firstLine(sql))
	default:
		c.optimised++
	}
	if bound.Whole == nil {
		c.noText++
		t.Logf("no text: %s\n%s", bound.Reason, firstLine(sql))
	}
	for _, n := range []plan.Node{bound.Plan, wholeNode(bound)} {
		if n == nil {
			continue
		}
		text, err := r.rendered(n)
		require.NoError(t, err, sql)
		got := r.run(ctx, text)
		if diff := want.differ(got, false); diff != "" {
			t.Errorf("%T of\n%s\n%s\nreason %q\n%s\n%s", n, sql, diff, bound.Reason, text, plan.Explain(n))
		}
	}
}

func wholeNode(b *Bound) plan.Node {
	if b.Whole == nil {
		return nil
	}
	return b.Whole
}

func TestTPCH(t *testing.T) {
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return tpch.CreateIn(context.Background(), exec, 0.01)
	})
	b := New(1)
	defer b.Close()
	var c rungs
	for i := 1; i <= tpch.Queries; i++ {
		t.Run(fmt.Sprintf("q%02d", i), func(t *testing.T) { r.check(t, b, tpch.Query(i), &c) })
	}
	t.Log(c)
	require.Equal(t, tpch.Queries, c.optimised)
	require.Zero(t, c.noText)
}
