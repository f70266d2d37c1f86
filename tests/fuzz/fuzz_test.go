package fuzz

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/simulate"
)

var (
	queries = flag.Int("queries", 0, "how many random queries are run; by default 500, and 10,000 with SERAC_TEST_ALL=1")
	seed    = flag.Uint64("seed", 1, "the seed of the first query; the others follow")
	keep    = flag.Int("failures", 3, "how many failing queries are shrunk and reported before a test gives up")
)

func number(few, many int) int {
	switch {
	case *queries > 0:
		return *queries
	case os.Getenv("SERAC_TEST_ALL") != "":
		return many
	}
	return few
}

// The rows of an answer beyond which, and the time after which, a query is left out: it would only take long.
const (
	mostRows = 3000
	longest  = time.Second
)

// verdict says what became of a query.
type verdict struct {
	class  string
	detail string
}

// The classes of queries that are not failures. All others are.
const (
	equal       = "equal"
	empty       = "equal, without rows"
	refused     = "refused by DuckDB"
	agreed      = "failing alike"
	spared      = "failing in DuckDB only, by an evaluation"
	contradicts = "other than DuckDB's, which says the same without its optimiser"
	unspecified = "without one right answer"
	whole       = "only as text"
	large       = "too large or slow"
)

func (v verdict) failure() bool {
	switch v.class {
	case equal, empty, refused, agreed, spared, contradicts, unspecified, whole, large:
		return false
	}
	return true
}

// tell prints what is no failure and yet worth a look.
func (v verdict) tell(t *testing.T, seed uint64, sql string) {
	t.Helper()
	if testing.Verbose() && (v.class == spared || v.class == contradicts || v.class == unspecified || v.class == whole) {
		t.Logf("seed %d: %s: %s\n%s", seed, v.class, v.detail, sql)
	}
}

// severalRows is DuckDB's error of a scalar subquery of several rows, takeAnyRow the setting in which it takes any of them.
const (
	severalRows = "Invalid Input Error: More than one row returned by a subquery used as an expression"
	takeAnyRow  = "SET scalar_subquery_error_on_multiple_rows = false"
	takeOneRow  = "SET scalar_subquery_error_on_multiple_rows = true"
)

// onlyDuckDBFails is the verdict on a query that has an answer, and not in DuckDB. Which values are computed is the plan's
// choice: DuckDB may fail at one that it then drops. anyRow holds the answer against DuckDB's in the setting takeAnyRow: a
// subquery of several rows did not matter to the answer if it is right there too.
func onlyDuckDBFails(err error, detail string, anyRow func() verdict) verdict {
	switch text := err.Error(); {
	case strings.Contains(text, severalRows):
		if v := anyRow(); v.failure() {
			return v
		}
		return verdict{spared, detail}
	case strings.Contains(text, "Conversion Error: "), strings.Contains(text, "Out of Range Error: "):
		return verdict{spared, detail}
	}
	return verdict{"only DuckDB fails", detail}
}

// differing is the verdict on an answer that is not DuckDB's. It may be DuckDB that is wrong: its optimiser never may change an
// answer, so if it gives the very answer when that is off, it was. plain runs a statement or a query on the DuckDB.
func differing(detail string, got *compare.Result, plain func(sql string) (*compare.Result, error), sql string) verdict {
	_, off := plain("PRAGMA disable_optimizer")
	want, err := plain(sql)
	_, on := plain("PRAGMA enable_optimizer")
	if err == nil && compare.Diff(want, got) == "" {
		return verdict{contradicts, detail}
	}
	return verdict{"the answers differ", detail + fmt.Sprint(errors.Join(off, err, on))}
}

// judge runs a query in process, in some settings.
func judge(s *simulate.Simulator, sql string, in ...simulate.Setting) verdict {
	if _, _, _, err := s.Conn.Describe(context.Background(), sql); err != nil {
		return verdict{refused, err.Error()}
	}
	if v, ok := tooLarge(s.Conn, sql); ok {
		return v
	}
	out, err := s.Check(sql, in...)
	var mismatch *simulate.Mismatch
	switch {
	case errors.As(err, &mismatch) && mismatch.Got != nil:
		return verdict{"the distribution fails", err.Error()}
	case errors.As(err, &mismatch) && mismatch.Want != nil:
		return onlyDuckDBFails(mismatch.Want, err.Error(), func() verdict {
			if err := s.Conn.Exec(context.Background(), takeAnyRow); err != nil {
				return verdict{"not set", err.Error()}
			}
			v := judge(s, sql, in...)
			if err := s.Conn.Exec(context.Background(), takeOneRow); err != nil {
				return verdict{"not set", err.Error()}
			}
			return v
		})
	case errors.As(err, &mismatch):
		return differing(err.Error(), mismatch.Answer, s.Run, sql)
	case err != nil:
		return verdict{"not planned", err.Error()}
	case out.Text:
		return verdict{whole, ""}
	case out.Failed != nil:
		return verdict{agreed, out.Failed.Error()}
	case out.Unspecified:
		return verdict{unspecified, ""}
	case out.Rows == 0:
		return verdict{empty, ""}
	}
	return verdict{equal, ""}
}

func tooLarge(conn *duckdb.Conn, sql string) (verdict, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	stream, err := conn.Stream(ctx, sql)
	if err != nil {
		return verdict{large, err.Error()}, ctx.Err() != nil
	}
	defer stream.Close()
	for rows := int64(0); ; {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return verdict{}, false
		}
		if err != nil {
			return verdict{large, err.Error()}, ctx.Err() != nil
		}
		rows += batch.NumRows()
		batch.Release()
		if rows > mostRows {
			return verdict{large, "rows"}, true
		}
	}
}

func newSimulator(t *testing.T) *simulate.Simulator {
	t.Helper()
	s := simulate.New(t)
	exec := func(sql string) { require.NoError(t, s.Conn.Exec(context.Background(), sql), sql) }
	exec("SET TimeZone = 'UTC'")
	for _, table := range tables {
		exec(table.createSQL(table.name))
		exec("INSERT INTO " + table.name + " " + table.rowsSQL(0, 1))
	}
	require.NoError(t, s.Describe())
	return s
}

// tally counts verdicts.
type tally map[string]int

func (c tally) all() int {
	all := 0
	for _, n := range c {
		all += n
	}
	return all
}

func (c tally) share(classes ...string) float64 {
	sum := 0
	for _, class := range classes {
		sum += c[class]
	}
	return float64(sum) / float64(max(c.all(), 1))
}

// bounds hold the shares of queries that show little.
func (c tally) bounds(t *testing.T) {
	t.Helper()
	t.Logf("%v", c)
	require.LessOrEqual(t, c.share(refused, agreed, spared), 0.10, "queries that DuckDB refuses or that fail")
	require.LessOrEqual(t, c[spared], max(2, c.all()/1000), spared)
	require.LessOrEqual(t, c[contradicts], max(2, c.all()/1000), contradicts)
	require.LessOrEqual(t, c.share(unspecified), 0.02, "queries without one right answer")
	require.LessOrEqual(t, c.share(whole), 0.05, "queries without a plan")
	require.LessOrEqual(t, c.share(large), 0.05, "queries left out because they are large")
	// A third of the answers is empty; chance makes it more in a short run: three standard deviations of n queries.
	chance := 3 * math.Sqrt(0.33*0.67/float64(max(1, c.all())))
	require.LessOrEqual(t, c.share(empty), 0.33+chance, "empty answers")
}

// settingOf is the setting that a seed's query runs in.
func settingOf(seed uint64) simulate.Setting {
	return simulate.Settings[seed%uint64(len(simulate.Settings))]
}

// Random queries, each in one of the settings, give DuckDB's answers.
func TestRandomQueries(t *testing.T) {
	n := number(500, 10000)
	const shards = 2
	counts := make([]tally, shards)
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				s := newSimulator(t)
				counts[shard] = tally{}
				failures := 0
				for i := shard; i < n && failures < *keep; i += shards {
					at := *seed + uint64(i)
					set := settingOf(at)
					tree := grow(at)
					sql := generate(tree)
					v := judge(s, sql, set)
					counts[shard][v.class]++
					v.tell(t, at, sql)
					if !v.failure() {
						continue
					}
					failures++
					small := shrink(tree, func(sql string) bool { return judge(s, sql, set).class == v.class }, 2000)
					sql = generate(small.again())
					t.Errorf("seed %d: %s\n%s\n%s", at, v.class, sql, judge(s, sql, set).detail)
				}
			})
		}
	})
	sum := tally{}
	for _, c := range counts {
		for class, n := range c {
			sum[class] += n
		}
	}
	sum.bounds(t)
}

// What random queries once found stays right, in all settings.
func TestFoundQueries(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	s := newSimulator(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, set := range simulate.Settings {
				v := judge(s, string(text), set)
				require.False(t, v.failure(), "%s\n%s\n%s", v.class, text, v.detail)
				require.NotEqual(t, refused, v.class, "%s\n%s", v.detail, text)
			}
		})
	}
}
