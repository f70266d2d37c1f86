package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/corpora"
)

// tally counts how the statements of a corpus run.
type tally struct {
	statements, parallel, unspecified int
	whole                             []string // not distributable, in one task
	textOnly                          int      // without a plan
}

// checkCorpus holds every statement's distributed answers against its own.
func checkCorpus(t *testing.T, c corpora.Corpus) tally {
	t.Helper()
	t.Parallel()
	s := newSimulator(t)
	s.one = c.Name == "TPC-DS"
	require.NoError(t, c.Fill(s.conn.Exec))
	s.describe()
	if c.Name == "own" {
		s.exec("ATTACH ':memory:' AS serac; CREATE SCHEMA serac.ns; CREATE VIEW serac.ns.t AS FROM memory.main.t")
	}
	var sum tally
	for _, q := range c.Queries {
		t.Run(q.Label, func(t *testing.T) {
			s.t = t
			if s.bind(q.SQL).Plan == nil {
				sum.textOnly++
				return
			}
			o := s.check(q.SQL, s.settings()...)
			sum.statements++
			if o.Parallel {
				sum.parallel++
			} else {
				t.Logf("not in parallel: %s", q.SQL)
			}
			if o.Whole {
				sum.whole = append(sum.whole, q.Label)
			}
			if o.Unspecified {
				sum.unspecified++
			}
		})
	}
	s.t = t
	t.Logf("%s: %d statements, %d in parallel, %d whole in one task %v, %d whose answer is not specified, %d only as text", c.Name,
		sum.statements, sum.parallel, len(sum.whole), sum.whole, sum.unspecified, sum.textOnly)
	return sum
}

// The statements that do not run in parallel in what follows read no table, one row of it, or run in one task as a whole
// because of what they are (a positional join).

func TestTPCHDistributed(t *testing.T) {
	sum := checkCorpus(t, corpora.TPCH(0.01))
	require.Equal(t, 22, sum.parallel)
}

func TestTPCDSDistributed(t *testing.T) {
	sum := checkCorpus(t, corpora.TPCDS(t))
	require.Equal(t, 103, sum.parallel)
}

func TestClickBenchDistributed(t *testing.T) {
	sum := checkCorpus(t, corpora.ClickBench(t))
	require.Equal(t, 43, sum.parallel)
	require.LessOrEqual(t, sum.unspecified, 5) // ties at a LIMIT
}

func TestConstructsDistributed(t *testing.T) {
	sum := checkCorpus(t, corpora.Constructs(t))
	require.GreaterOrEqual(t, sum.parallel, 102)
	require.LessOrEqual(t, sum.unspecified, 8)
}

func TestOwnQueriesDistributed(t *testing.T) {
	sum := checkCorpus(t, corpora.Own())
	require.GreaterOrEqual(t, sum.parallel, 118)
	require.LessOrEqual(t, sum.unspecified, 8)
	require.LessOrEqual(t, sum.textOnly, 1)
}
