// Package shuffle keeps rows between stages as Parquet files.
package shuffle

import "github.com/seracdb/serac/plan"

// Carrier is the type that a shuffle file's column has in Parquet to carry values of type t exactly, and whether there
// is one at all.
func Carrier(t plan.Type) (plan.Type, bool) {
	return t, false
}
