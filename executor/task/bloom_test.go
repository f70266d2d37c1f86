package task

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/bloom"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
)

// BenchmarkBloom is the rate at which DuckDB reads rows with no filter, with the hash alone, and with serac_bloom over
// filters of several sizes that let one row in a hundred through. One thread.
func BenchmarkBloom(b *testing.B) {
	engine, err := OpenEngine(b.Context(), EngineOptions{Threads: 1, MemoryLimit: 512 << 20, TempDir: b.TempDir()})
	require.NoError(b, err)
	defer func() { require.NoError(b, engine.Close()) }()
	conn, err := engine.Conn(b.Context(), nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, conn.Close()) }()
	const rows = 10_000_000
	require.NoError(b, conn.Exec(b.Context(), fmt.Sprintf("CREATE TEMP TABLE t AS SELECT i AS k FROM range(%d) AS r(i)", rows)))
	run := func(name, where string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := conn.Rows(b.Context(), "SELECT count(*), sum(k) FROM t WHERE "+where)
				require.NoError(b, err)
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
	run("none", "k >= 0")
	run("hash", "hash(k) <> 5")
	for _, n := range []int{100, 10_000, 300_000} {
		hashes, err := conn.Rows(b.Context(), fmt.Sprintf("SELECT hash(k) FROM t WHERE k %% %d = 0", rows/n))
		require.NoError(b, err)
		f := bloom.New()
		for _, h := range hashes {
			f.Add(h[0].(uint64))
		}
		f = f.Fold(0.01)
		key := binary.LittleEndian.AppendUint64(nil, engine.filters.put(f))
		bits, err := render.Expr(&plan.Constant{Value: key, Of: plan.T(plan.Blob)}, nil)
		require.NoError(b, err)
		run(fmt.Sprintf("bloom/%dKiB", len(f)>>10), "serac_bloom(hash(k), "+bits+")")
	}
}
