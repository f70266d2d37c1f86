package flightsql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/wire"
)

// fakeEngine understands a few words instead of SQL:
//
//	ROWS n [m]    n batches of m (1) rows with a counting column
//	WIDE n        one row with a text of n bytes
//	ECHO          its parameters, as one row
//	HANG          no batch, until it is cancelled
//	UPDATE n      changes n rows; it takes as long as gate is shut
//	FAIL kind     fails before its schema is known; LATE kind after one batch
//	SHOW          the session's user, catalog, schema and settings
//	SET k = v, USE catalog.schema
type fakeEngine struct {
	mem *memory.CheckedAllocator

	lost bool // a batch may stay unreleased

	opened, closed, updates, batches atomic.Int64
	gate                             chan struct{} // updates wait until it is closed
	sessions                         atomic.Int64

	mu     sync.Mutex
	params [][]any
}

func newFakeEngine(t *testing.T) *fakeEngine {
	e := &fakeEngine{mem: memory.NewCheckedAllocator(memory.DefaultAllocator), gate: make(chan struct{})}
	close(e.gate)
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return e.opened.Load() == e.closed.Load() }, 5*time.Second, 5*time.Millisecond, "every execution is closed")
		require.Eventually(t, func() bool { return e.lost || e.mem.CurrentAlloc() == 0 }, 5*time.Second, 5*time.Millisecond, "every batch is released")
	})
	return e
}

func (e *fakeEngine) NewSession(user string) *engine.Session {
	return engine.OpenSession(fmt.Sprint(e.sessions.Add(1)), user, "cat", "main")
}

var countSchema = arrow.NewSchema([]arrow.Field{{Name: "Count", Type: arrow.PrimitiveTypes.Int64}}, nil)

func (e *fakeEngine) Prepare(ctx context.Context, s *engine.Session, sql string) (*engine.Prepared, error) {
	word, _, _ := strings.Cut(sql, " ")
	p := &engine.Prepared{IsQuery: true, Params: strings.Count(sql, "?")}
	switch word {
	case "UPDATE", "SET", "USE", "RESET":
		p.IsQuery, p.Schema = false, countSchema
	case "ROWS", "HANG":
		p.Schema = rowsSchema
	case "ECHO":
		p.Schema = echoSchema(make([]any, p.Params))
	case "SHOW", "WIDE":
		p.Schema = textSchema
	default:
		return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, "syntax error at %q", word)
	}
	return p, nil
}

// SubstraitSQL takes the plan for the text.
func (e *fakeEngine) SubstraitSQL(plan []byte) (string, error) {
	if len(plan) == 0 {
		return "", failure("STATEMENT")
	}
	return string(plan), nil
}

var (
	rowsSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	textSchema = arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
)

// echoSchema has a text column for each parameter, which shows its literal.
func echoSchema(params []any) *arrow.Schema {
	fields := make([]arrow.Field, len(params))
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("p", i), Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func failure(kind string) error {
	k := seracv1.FailureKind(seracv1.FailureKind_value["FAILURE_KIND_"+kind])
	return wire.Fail(k, errors.New("no luck: "+strings.ToLower(kind)))
}

func (e *fakeEngine) Execute(ctx context.Context, s *engine.Session, sql string, params []any) (engine.Execution, error) {
	words := strings.Fields(sql)
	if len(words) == 0 {
		return nil, failure("STATEMENT")
	}
	number := func(i, otherwise int) int {
		if i >= len(words) {
			return otherwise
		}
		n, _ := strconv.Atoi(words[i])
		return n
	}
	x := &fakeExecution{e: e, isQuery: true, progress: engine.Progress{State: engine.Running, Stages: 1, Tasks: 4}}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	switch words[0] {
	case "ROWS":
		n, m := number(1, 1), number(2, 1)
		x.schema = rowsSchema
		x.next = func(i int) (arrow.RecordBatch, error) {
			if i >= n {
				return nil, io.EOF
			}
			b := array.NewRecordBuilder(e.mem, rowsSchema)
			defer b.Release()
			for r := range m {
				b.Field(0).(*array.Int64Builder).Append(int64(i*m + r))
			}
			return b.NewRecordBatch(), nil
		}
	case "WIDE":
		x.schema = textSchema
		x.next = x.once(func() arrow.RecordBatch { return e.texts(textSchema, strings.Repeat("x", number(1, 1))) })
	case "SHOW":
		x.schema = textSchema
		x.next = x.once(func() arrow.RecordBatch {
			catalog, schema := s.Namespace()
			return e.texts(textSchema, fmt.Sprint(s.User, " ", catalog, ".", schema, " ", s.Settings()))
		})
	case "ECHO":
		e.mu.Lock()
		e.params = append(e.params, params)
		e.mu.Unlock()
		x.schema = echoSchema(params)
		x.next = x.once(func() arrow.RecordBatch {
			literals := make([]string, len(params))
			for i, p := range params {
				literals[i], _ = engine.LiteralSQL(p)
			}
			return e.texts(x.schema, literals...)
		})
	case "HANG":
		x.schema = rowsSchema
		x.next = func(int) (arrow.RecordBatch, error) {
			<-x.ctx.Done()
			return nil, failure("CANCELLED")
		}
	case "FAIL":
		return nil, failure(words[1])
	case "LATE":
		x.schema = rowsSchema
		x.next = func(i int) (arrow.RecordBatch, error) {
			if i > 0 {
				return nil, failure(words[1])
			}
			return e.count(1), nil
		}
	case "UPDATE":
		e.updates.Add(1)
		x.update(int64(number(1, 0)))
	case "SET":
		if words[1] == `"bad"` {
			return nil, failure("STATEMENT")
		}
		s.Set(strings.Trim(words[1], `"`), strings.Trim(words[3], `'`))
		x.update(0)
	case "RESET":
		s.Set(strings.Trim(words[1], `"`), "")
		x.update(0)
	case "USE":
		catalog, schema, _ := strings.Cut(words[1], ".")
		s.Use(catalog, schema)
		x.update(0)
	default:
		return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, "syntax error at %q", words[0])
	}
	x.id = fmt.Sprint("statement-", e.opened.Add(1))
	return x, nil
}

func (e *fakeEngine) texts(schema *arrow.Schema, values ...string) arrow.RecordBatch {
	b := array.NewRecordBuilder(e.mem, schema)
	defer b.Release()
	for i, v := range values {
		b.Field(i).(*array.StringBuilder).Append(v)
	}
	return b.NewRecordBatch()
}

func (e *fakeEngine) count(n int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(e.mem, countSchema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(n)
	return b.NewRecordBatch()
}

func (e *fakeEngine) Catalogs(context.Context) ([]string, error) {
	return []string{"cat", "a_cat"}, nil
}

func (e *fakeEngine) Schemas(_ context.Context, catalog string) ([]string, error) {
	if catalog == "cat" {
		return []string{"main", "b_schema", "bXschema"}, nil
	}
	return []string{"other"}, nil
}

func (e *fakeEngine) Tables(_ context.Context, catalog, schema string) ([]string, error) {
	if catalog == "cat" && schema == "main" {
		return []string{"t2", "t1", "broken"}, nil
	}
	return nil, nil
}

var tableSchema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func (e *fakeEngine) TableSchema(_ context.Context, _, _, table string) (*arrow.Schema, error) {
	if table == "broken" {
		return nil, errors.New("metadata is gone")
	}
	return tableSchema, nil
}

type fakeExecution struct {
	e       *fakeEngine
	id      string
	isQuery bool
	schema  *arrow.Schema
	ctx     context.Context
	cancel  context.CancelCauseFunc
	next    func(i int) (arrow.RecordBatch, error)
	i       int
	changed int64
	closed  bool

	mu       sync.Mutex
	progress engine.Progress
}

func (x *fakeExecution) once(f func() arrow.RecordBatch) func(int) (arrow.RecordBatch, error) {
	return func(i int) (arrow.RecordBatch, error) {
		if i > 0 {
			return nil, io.EOF
		}
		return f(), nil
	}
}

func (x *fakeExecution) update(n int64) {
	x.isQuery, x.schema, x.changed = false, countSchema, n
	x.next = func(i int) (arrow.RecordBatch, error) {
		if i > 0 {
			return nil, io.EOF
		}
		select {
		case <-x.e.gate:
		case <-x.ctx.Done():
			return nil, failure("CANCELLED")
		}
		return x.e.count(n), nil
	}
}

func (x *fakeExecution) ID() string            { return x.id }
func (x *fakeExecution) IsQuery() bool         { return x.isQuery }
func (x *fakeExecution) Schema() *arrow.Schema { return x.schema }

func (x *fakeExecution) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := x.ctx.Err(); err != nil {
		return nil, failure("CANCELLED")
	}
	batch, err := x.next(x.i)
	x.i++
	if err == nil {
		x.e.batches.Add(1)
	}
	return batch, err
}

func (x *fakeExecution) RowsAffected(context.Context) (int64, error) { return x.changed, nil }

func (x *fakeExecution) Progress() engine.Progress {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.progress
}

func (x *fakeExecution) Cancel() { x.cancel(errors.New("cancelled")) }

func (x *fakeExecution) Close() {
	if x.closed {
		panic("closed twice")
	}
	x.closed = true
	x.cancel(nil)
	x.e.closed.Add(1)
}
