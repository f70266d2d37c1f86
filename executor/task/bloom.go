package task

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/seracdb/serac/internal/bloom"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

// bloomName is the function serac_bloom(hash UBIGINT, bits BLOB): whether a value of that hash() may be among those of a
// join filter. NULL gives NULL.
const bloomName = "serac_bloom"

// filters are the join filters of the attempts that run. DuckDB copies a constant for every chunk of rows, which costs more
// than all else when it has half a megabyte: so a task's SQL names its filters by a number, of keyBytes bytes, and the
// function finds them here.
type filters struct {
	mu    sync.RWMutex
	last  uint64
	byKey map[uint64]bloom.Filter
}

const keyBytes = 8

func newFilters() *filters { return &filters{byKey: map[uint64]bloom.Filter{}} }

// bind replaces the filters in a plan by their numbers. release forgets them, when the plan has run.
func (f *filters) bind(root plan.Node) (bound plan.Node, release func(), err error) {
	var keys []uint64
	release = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, k := range keys {
			delete(f.byKey, k)
		}
	}
	number := func(e plan.Expr) plan.Expr {
		bits := filterOf(e)
		if bits == nil {
			return e
		}
		key := f.put(bits)
		keys = append(keys, key)
		m := *e.(*plan.Call)
		m.Args = []plan.Expr{m.Args[0], &plan.Constant{Value: binary.LittleEndian.AppendUint64(nil, key), Of: plan.T(plan.Blob)}}
		return &m
	}
	bound, err = plan.Transform(root, func(n plan.Node) (plan.Node, error) {
		found := false
		for _, e := range plan.NodeExprs(n) {
			plan.WalkExpr(e, func(e plan.Expr) bool {
				if bits := filterOf(e); bits != nil {
					found = true
					err = errors.Join(err, bits.Check())
				}
				return true
			})
		}
		if !found || err != nil {
			return n, err
		}
		return plan.MapExprs(n, func(e plan.Expr) plan.Expr { return plan.RewriteExpr(e, number) }), nil
	})
	if err != nil {
		release()
		return nil, nil, err
	}
	return bound, release, nil
}

// filterOf is the constant filter that an expression tests with; nil when it is none.
func filterOf(e plan.Expr) bloom.Filter {
	call, ok := e.(*plan.Call)
	if !ok || call.Name != bloomName || len(call.Args) != 2 {
		return nil
	}
	if c, ok := call.Args[1].(*plan.Constant); ok {
		if bits, ok := c.Value.([]byte); ok {
			return bits
		}
	}
	return nil
}

func (f *filters) put(bits bloom.Filter) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.byKey[f.last] = bits
	return f.last
}

// find is the filter that a constant stands for: a number, or the bits themselves.
func (f *filters) find(b []byte) (bloom.Filter, error) {
	if len(b) != keyBytes {
		return b, bloom.Filter(b).Check()
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	key := binary.LittleEndian.Uint64(b)
	if filter := f.byKey[key]; filter != nil {
		return filter, nil
	}
	return nil, fmt.Errorf("no join filter %d", key)
}

func (f *filters) function() duckdb.ScalarFunction {
	return duckdb.ScalarFunction{Name: bloomName, Params: []string{"UBIGINT", "BLOB"}, Returns: "BOOLEAN", Fn: f.test}
}

func (f *filters) test(args []duckdb.Vector, out duckdb.Vector) error {
	hashes, bits, result := args[0], args[1], duckdb.Slice[bool](out)
	if len(result) == 0 {
		return nil
	}
	values := duckdb.Slice[uint64](hashes)
	if bits.SameBytes() && hashes.AllValid() {
		filter, err := f.find(bits.Bytes(0))
		if err != nil {
			return err
		}
		for i, h := range values {
			result[i] = filter.Has(h)
		}
		return nil
	}
	for i := range result {
		if !hashes.Valid(i) || !bits.Valid(i) {
			out.SetNull(i)
			continue
		}
		filter, err := f.find(bits.Bytes(i))
		if err != nil {
			return err
		}
		result[i] = filter.Has(values[i])
	}
	return nil
}
