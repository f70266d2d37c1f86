package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/scheduler/bind"
)

// keptBounds and keptBytes bound what is kept of queries that have been bound: how many, and how long their texts may be.
const (
	keptBounds = 256
	keptBytes  = 16 << 10
)

// boundQueries keeps queries that have been bound and could run whole, as their text. Dashboards and drivers send the same text
// again and again, and binding it takes longer than many of them run. Plans are never changed in place, so statements may share
// one.
type boundQueries struct {
	kept *lru.Cache[string, *bind.Bound]
}

func newBoundQueries() boundQueries {
	kept, err := lru.New[string, *bind.Bound](keptBounds)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return boundQueries{kept: kept}
}

// boundKey is all that a binding depends on beside the tables.
func (st *statement) boundKey(text string) string {
	catalogName, schema := st.session.Namespace()
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q", text, catalogName, schema)
	for _, name := range slices.Sorted(maps.Keys(st.settings)) {
		fmt.Fprintf(&b, " %q %q", name, st.settings[name])
	}
	return b.String()
}

// bindAgain is bind for a query that may have been bound before: what is known of it holds if its tables are what they
// were, each in the same version.
func (st *statement) bindAgain(ctx context.Context, text string) (*bind.Bound, error) {
	if len(text) > keptBytes {
		return st.bindFor(ctx, text, st.textOnly)
	}
	key := st.boundKey(text)
	if known, ok := st.bounds.kept.Get(key); ok && st.unchanged(ctx, known) {
		again := *known
		return &again, nil
	}
	bound, err := st.bindFor(ctx, text, st.textOnly)
	if err == nil && bound.Repeatable && bound.Whole != nil {
		again := *bound
		st.bounds.kept.Add(key, &again)
	}
	return bound, err
}

// unchanged resolves the tables of a query, which pins them for the statement, and says whether all are as they were and what
// is known is still what the statement needs.
func (st *statement) unchanged(ctx context.Context, known *bind.Bound) bool {
	var g errgroup.Group
	g.SetLimit(maxConcurrentScans)
	for i, ref := range known.Refs {
		g.Go(func() error {
			t, err := st.resolve(ctx, ref)
			if err == nil && !reflect.DeepEqual(t, known.Tables[i]) {
				err = errors.New("it is not what it was")
			}
			return err
		})
	}
	if g.Wait() != nil {
		return false
	}
	// One without a plan can do nothing but run whole.
	return known.Plan != nil || known.Reason != "" || st.textOnly(known.Tables)
}
