package bloom

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func hashes(seed uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]uint64, n)
	for i := range out {
		out[i] = rng.Uint64()
	}
	return out
}

// TestFilter: whatever was put in is found, in every size that the filter is folded to, and little else.
func TestFilter(t *testing.T) {
	for _, n := range []int{0, 1, 10, 1000, 30_000, 300_000, 1_000_000} {
		f := New()
		in, out := hashes(1, n), hashes(2, 100_000)
		for _, h := range in {
			f.Add(h)
		}
		for _, at := range []float64{0, 0.01, 0.1, 1} {
			g := f.Fold(at)
			require.NoError(t, g.Check())
			for _, h := range in {
				require.True(t, g.Has(h))
			}
			wrong := 0
			for _, h := range out {
				if g.Has(h) {
					wrong++
				}
			}
			require.InDelta(t, g.FalsePositives(), float64(wrong)/float64(len(out)), 0.005, "%d hashes folded at %v", n, at)
			require.True(t, len(g) == MaxBytes || g.FalsePositives() <= at)
		}
	}
	// Ten and a half bits a hash do for one in a hundred.
	f := New()
	for _, h := range hashes(1, 3000) {
		f.Add(h)
	}
	require.Len(t, f.Fold(0.01), 4096)
}

func TestMerge(t *testing.T) {
	f, g := New(), New()
	for _, h := range hashes(1, 1000) {
		f.Add(h)
	}
	for _, h := range hashes(2, 1000) {
		g.Add(h)
	}
	require.NoError(t, f.Merge(g))
	for _, h := range append(hashes(1, 1000), hashes(2, 1000)...) {
		require.True(t, f.Has(h))
	}
	require.Error(t, f.Merge(g.Fold(1)))
	for _, n := range []int{0, 1, 63, 96, 2 * MaxBytes} {
		require.Error(t, make(Filter, n).Check(), n)
	}
}
