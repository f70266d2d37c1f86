package planner_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/simulate"
)

// simulator is tests/simulate for tests whose statements must neither be refused nor differ.
type simulator struct {
	*simulate.Simulator
	t      *testing.T
	conn   *duckdb.Conn
	tables map[string]*bind.Table
	turn   int  // statements that have been checked
	one    bool // one setting a statement suffices
}

var settings = simulate.Settings

func newSimulator(t *testing.T) *simulator {
	s := simulate.New(t)
	return &simulator{Simulator: s, t: t, conn: s.Conn, tables: s.Tables}
}

func (s *simulator) describe() { require.NoError(s.t, s.Describe()) }

func (s *simulator) exec(sql string) {
	require.NoError(s.t, s.Conn.Exec(context.Background(), sql), sql)
}

func (s *simulator) bind(sql string) *bind.Bound {
	bound, err := s.Bind(sql)
	require.NoError(s.t, err, sql)
	return bound
}

func (s *simulator) distribute(root plan.Node, o planner.Options) (stages []*planner.Stage, whole bool) {
	stages, whole, err := s.Distribute(root, o)
	require.NoError(s.t, err)
	return stages, whole
}

// settings are those for the next statement: by default two (one for many large statements), in turn.
func (s *simulator) settings() []simulate.Setting {
	s.turn++
	if s.one && os.Getenv("SERAC_TEST_ALL") == "" {
		return simulate.Turn(s.turn)[:1]
	}
	return simulate.Turn(s.turn)
}

// check holds the distributed answers against the statement's own, in each of the settings.
func (s *simulator) check(sql string, in ...simulate.Setting) simulate.Outcome {
	s.t.Helper()
	out, err := s.Check(sql, in...)
	require.NoError(s.t, err, sql)
	require.False(s.t, out.Text, "without a plan: %s", sql)
	return out
}
