package codec

import "github.com/seracdb/serac/codec/conformance/samples"

// The samples' parts, by the short names that these tests use.
var (
	big1    = samples.BigInt
	columns = samples.Columns
	leaf    = samples.Leaf
	col     = samples.Col
	num     = samples.Num
	less    = samples.Less
)
