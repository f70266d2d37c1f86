package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/corpora"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// notAdaptive turns the rules off that look at what has run.
var notAdaptive = []string{"adaptive_broadcast = false", "adaptive_coalesce = false", "adaptive_empty = false", "adaptive_skew = false", "join_filters = false"}

// corpusSettings are in turn those of a corpus's queries; with SERAC_TEST_ALL=1 each query has all of them.
var corpusSettings = [][]string{
	{"shuffle_partitions = 7", "max_partitions_per_task = 1", "broadcast_threshold = '0B'"},
	{"shuffle_partitions = 7", "max_partitions_per_task = 1", "broadcast_threshold = '0B'", "key_ranges = false"},
	{"shuffle_partitions = 2", "max_partitions_per_task = 0", "broadcast_threshold = '1TB'"},
	{"shuffle_partitions = 1", "max_partitions_per_task = 1", "broadcast_threshold = '32MB'"},
	append([]string{"shuffle_partitions = 7", "max_partitions_per_task = 0", "broadcast_threshold = '0B'"}, notAdaptive...),
	{"shuffle_partitions = 2", "max_partitions_per_task = 1", "broadcast_threshold = '4KB'"},
	append([]string{"shuffle_partitions = 1", "max_partitions_per_task = 0", "broadcast_threshold = '1TB'"}, notAdaptive...),
	append([]string{"shuffle_partitions = 2", "max_partitions_per_task = 1", "broadcast_threshold = '32MB'"}, notAdaptive...),
}

// distribute has a session distribute everything, in one of the settings.
func distribute(client *process.Client, setting []string) {
	always := []string{
		"distribution_threshold = '0B'", "target_task_size = '16KB'", "TimeZone = 'UTC'", "adaptive_broadcast = true", "adaptive_coalesce = true",
		"adaptive_empty = true", "adaptive_skew = true", "join_filters = true", "key_ranges = true",
	}
	for _, s := range append(always, setting...) {
		client.Query("SET " + s)
	}
}

// fitting makes a corpus's statements ones for Iceberg tables: without INTERVAL, and each large table from three INSERTs.
func fitting(sql string) []string {
	sql = strings.NewReplacer(", iv interval", "", ", to_days((i%5)::int)", "", ", to_days((i % 5)::integer)", "").Replace(sql)
	lower := strings.ToLower(sql)
	switch {
	case strings.HasPrefix(lower, "create table"):
		return []string{sql}
	case !strings.HasPrefix(lower, "insert"):
		return nil
	case !strings.Contains(lower, "000) x(i)") && !strings.Contains(lower, "501) x(i)"):
		return []string{sql}
	}
	var parts []string
	for i := range 3 {
		parts = append(parts, fmt.Sprintf("%s WHERE i %% 3 = %d", sql, i))
	}
	return parts
}

// TestCorpora holds the queries of the corpora against DuckDB on the same files: each on a scheduler with two executors and in
// one process, in settings that take turns. With SERAC_TEST_ALL=1 all queries run in all settings, else one in ten in one. Of a query without one
// right answer (ties at a LIMIT) only the number and the types are compared; without rows it counts as empty, not as equal.
func TestCorpora(t *testing.T) {
	dataDir := t.TempDir()
	catalog := openCatalog(t, dataDir)
	all := []struct {
		schema string
		corpus func(t *testing.T) corpora.Corpus
	}{
		{"tpcds", func(t *testing.T) corpora.Corpus { return corpora.TPCDS(t) }},
		{"clickbench", func(t *testing.T) corpora.Corpus { return corpora.ClickBench(t) }},
		{"constructs", func(t *testing.T) corpora.Corpus { return corpora.Constructs(t) }},
		{"own", func(*testing.T) corpora.Corpus { return readable(corpora.Own()) }},
	}
	for _, system := range []string{"distributed", "serve"} {
		t.Run(system, func(t *testing.T) {
			cluster := func() *process.Cluster {
				if system == "serve" {
					return process.Serve(t, dataDir)
				}
				return process.Distributed(t, dataDir, 2)
			}()
			for k, c := range all {
				t.Run(c.schema, func(t *testing.T) {
					corpus := c.corpus(t)
					client := cluster.Connect(t)
					if system == "distributed" {
						client.Query("CREATE SCHEMA " + c.schema)
						client.Query("USE " + c.schema)
						require.NoError(t, corpus.Fill(func(_ context.Context, sql string) error {
							for _, s := range fitting(sql) {
								client.Query(s)
							}
							return nil
						}))
					}
					client.Query("USE " + c.schema)
					db := reference.Open(t, catalog, c.schema, 2)
					db.Exec("SET TimeZone = 'UTC'")
					var sum corpusTally
					for i, q := range corpus.Queries {
						settings := corpusSettings
						if os.Getenv("SERAC_TEST_ALL") == "" {
							if i%10 != k {
								continue
							}
							settings = corpusSettings[(i+k)%len(corpusSettings):][:1]
						}
						t.Run(q.Label, func(t *testing.T) { sum.compare(t, db, client, q, settings) })
					}
					t.Logf("%s, answers in each setting: %d equal, %d without one right answer, %d failing alike; %d without rows: %v", corpus.Name, sum.equal, sum.unspecified, sum.failing, len(sum.empty), sum.empty)
					require.Greater(t, sum.equal, sum.unspecified+sum.failing+len(sum.empty))
				})
			}
			cluster.Stop()
		})
	}
}

// readable is a corpus without the query whose result has a type that Arrow has no text for.
func readable(c corpora.Corpus) corpora.Corpus {
	c.Queries = slices.DeleteFunc(slices.Clone(c.Queries), func(q corpora.Query) bool { return strings.Contains(strings.ToLower(q.SQL), "bignum") })
	return c
}

// corpusTally counts how the answers to queries compare.
type corpusTally struct {
	equal, unspecified, failing int
	empty                       []string
}

// compare holds a query's answer in each of the settings against DuckDB's.
func (c *corpusTally) compare(t *testing.T, db *reference.DB, client *process.Client, q corpora.Query, settings [][]string) {
	ctx := context.Background()
	want, wantErr := db.Run(ctx, strings.ReplaceAll(q.SQL, "ns.", "main."))
	if wantErr == nil && len(want.Rows) == 0 {
		c.empty = append(c.empty, q.Label)
	}
	for _, setting := range settings {
		distribute(client, setting)
		got, err := client.Run(ctx, strings.ReplaceAll(q.SQL, "ns.", ""))
		if wantErr != nil {
			require.Error(t, err, "%v\n%s", wantErr, q.SQL)
			c.failing++
			continue
		}
		if !assert.NoError(t, err, "%v\n%s", setting, q.SQL) || !assert.Len(t, got.Rows, len(want.Rows), "%v\n%s", setting, q.SQL) {
			continue
		}
		diff := compare.Diff(want, got)
		if diff == "" {
			if len(want.Rows) > 0 {
				c.equal++
			}
			continue
		}
		determined, err := db.Determined(ctx, strings.ReplaceAll(q.SQL, "ns.", ""))
		require.NoError(t, err)
		assert.False(t, determined, "%s\n%v\n%s", diff, setting, q.SQL)
		assert.Equal(t, want.Types, got.Types)
		c.unspecified++
	}
}
