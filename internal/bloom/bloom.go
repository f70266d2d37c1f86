// Package bloom is the Bloom filter that join filters are made of: over 64-bit hashes, which DuckDB's hash() gives, so that
// whoever has a value can test it. Executors fill filters and test with them, the scheduler merges them.
//
// It knows nothing of values, files or messages. A filter is its bits alone, as a byte slice whose length is a power of
// two; the positions of a hash are taken modulo that length. So a large filter can be folded into a small one without
// forgetting a hash (Fold), and filters of different tasks are merged bit by bit.
package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// MinBytes and MaxBytes bound a filter's size.
const (
	MinBytes = 64
	MaxBytes = 512 << 10
)

// probes is the number of bits that each hash sets. It is the same for all sizes, for filters are folded; four are best for
// about six bits a hash, and give one false positive in a hundred at ten and a half.
const probes = 4

// Filter is the bits of a filter: a power of two of bytes, from MinBytes to MaxBytes.
type Filter []byte

// New is an empty filter of the largest size: fill it, then Fold it.
func New() Filter { return make(Filter, MaxBytes) }

// Check says what is wrong with bits that came from elsewhere.
func (f Filter) Check() error {
	if n := len(f); n < MinBytes || n > MaxBytes || n&(n-1) != 0 {
		return fmt.Errorf("a Bloom filter of %d bytes, not a power of two from %d to %d", n, MinBytes, MaxBytes)
	}
	return nil
}

// Add puts a hash in.
func (f Filter) Add(hash uint64) {
	mask := uint32(len(f))*8 - 1
	at, step := uint32(hash), uint32(hash>>32)|1
	for range probes {
		bit := at & mask
		f[bit>>3] |= 1 << (bit & 7)
		at += step
	}
}

// Has says whether a hash may have been put in; false is certain.
func (f Filter) Has(hash uint64) bool {
	mask := uint32(len(f))*8 - 1
	at, step := uint32(hash), uint32(hash>>32)|1
	for range probes {
		bit := at & mask
		if f[bit>>3]&(1<<(bit&7)) == 0 {
			return false
		}
		at += step
	}
	return true
}

// Merge puts in all that another filter of the same size has.
func (f Filter) Merge(other Filter) error {
	if len(f) != len(other) {
		return fmt.Errorf("merge Bloom filters of %d and %d bytes", len(f), len(other))
	}
	for i := range f {
		f[i] |= other[i]
	}
	return nil
}

// FalsePositives is the part of hashes never put in that Has takes for ones that were.
func (f Filter) FalsePositives() float64 {
	set := 0
	for i := 0; i < len(f); i += 8 {
		set += bits.OnesCount64(binary.LittleEndian.Uint64(f[i:]))
	}
	return math.Pow(float64(set)/float64(8*len(f)), probes)
}

// Fold is the smallest filter of the same hashes with at most so many false positives; f itself when no smaller one is that
// good.
func (f Filter) Fold(falsePositives float64) Filter {
	for len(f) > MinBytes {
		half := len(f) / 2
		g := make(Filter, half)
		for i := range g {
			g[i] = f[i] | f[half+i]
		}
		if g.FalsePositives() > falsePositives {
			break
		}
		f = g
	}
	return f
}
