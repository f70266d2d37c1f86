package render

import "github.com/seracdb/serac/plan"

// Options says how leaves are written.
type Options struct {
	// Leaf gives the SELECT of a leaf (columns c0, c1, ...): an IcebergScan, a MetadataScan, a ShuffleRead, an Extension, and Values and
	// TableFunction leaves, for which "" means that the renderer writes them itself. An unassigned leaf is Empty.
	Leaf func(leaf plan.Node) (string, error)
}
