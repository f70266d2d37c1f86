package flightsql

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seracdb/serac/scheduler/engine"
)

// sequence runs a statement once for each row of parameters, one after the other. A query's results follow each other;
// an update's counts are added up. It fails with the first execution that does: those before it stay done.
type sequence struct {
	ctx     context.Context
	engine  engine.Engine
	session *engine.Session
	text    string
	id      string
	schema  *arrow.Schema
	isQuery bool

	rest    [][]any
	changed int64

	mu        sync.Mutex // of what follows, which Progress and Cancel use from other goroutines
	current   engine.Execution
	done      engine.Progress
	cancelled bool
}

func newSequence(ctx context.Context, e engine.Engine, session *engine.Session, text string, params [][]any) (*sequence, error) {
	first, err := e.Execute(ctx, session, text, params[0])
	if err != nil {
		return nil, err
	}
	return &sequence{
		ctx: ctx, engine: e, session: session, text: text, id: first.ID(), schema: first.Schema(), isQuery: first.IsQuery(),
		rest: params[1:], current: first,
	}, nil
}

func (s *sequence) ID() string            { return s.id }
func (s *sequence) IsQuery() bool         { return s.isQuery }
func (s *sequence) Schema() *arrow.Schema { return s.schema }

func (s *sequence) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if s.current == nil {
			return nil, io.EOF
		}
		batch, err := s.current.Next(ctx)
		if err == nil && s.isQuery {
			return batch, nil
		}
		if err == nil {
			batch.Release() // The count of one update among several.
			continue
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !s.isQuery {
			n, err := s.current.RowsAffected(ctx)
			if err != nil {
				return nil, err
			}
			s.changed += n
		}
		if err := s.advance(); err != nil {
			return nil, err
		}
		if s.current == nil && !s.isQuery {
			return countBatch(s.schema, s.changed)
		}
	}
}

// advance closes the current execution and starts the next one.
func (s *sequence) advance() error {
	p := s.current.Progress()
	s.current.Close()
	s.mu.Lock()
	add(&s.done, p)
	s.current = nil
	cancelled := s.cancelled
	s.mu.Unlock()
	if cancelled {
		return errAsked
	}
	if len(s.rest) == 0 {
		return nil
	}
	next, err := s.engine.Execute(s.ctx, s.session, s.text, s.rest[0])
	if err != nil {
		return err
	}
	s.rest = s.rest[1:]
	s.mu.Lock()
	s.current = next
	cancelled = s.cancelled
	s.mu.Unlock()
	if cancelled {
		next.Cancel()
	}
	if !sameTypes(next.Schema(), s.schema) {
		return status.Error(codes.InvalidArgument, "the statement returns other types of columns for one row of parameters than for another")
	}
	return nil
}

// sameTypes leaves names aside: that of a column without an alias may hold the parameter's value.
func sameTypes(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(a, b arrow.Field) bool { return arrow.TypeEqual(a.Type, b.Type) })
}

func (s *sequence) RowsAffected(context.Context) (int64, error) { return s.changed, nil }

func (s *sequence) Progress() engine.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.done
	if s.current != nil {
		add(&p, s.current.Progress())
	}
	return p
}

func (s *sequence) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = true
	if s.current != nil {
		s.current.Cancel()
	}
}

func (s *sequence) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		s.current.Close()
		s.current = nil
	}
}

func add(to *engine.Progress, p engine.Progress) {
	to.State = p.State
	to.Stages += p.Stages
	to.StagesDone += p.StagesDone
	to.Tasks += p.Tasks
	to.TasksDone += p.TasksDone
	to.TasksRunning += p.TasksRunning
	to.Retries += p.Retries
	to.Rows += p.Rows
	to.Bytes += p.Bytes
	to.ShuffledRows += p.ShuffledRows
	to.Shuffled += p.Shuffled
}
