package iceberg

import "github.com/seracdb/serac/plan"

// HasKeyRanges says whether a scan may be divided by ranges of a column of the type: whether its values are whole numbers as
// KeyRange counts them (table.proto).
func HasKeyRanges(t plan.Type) bool {
	switch t.Kind {
	case plan.Integer, plan.BigInt, plan.Date, plan.Time, plan.Timestamp, plan.TimestampTZ:
		return true
	default:
		return false
	}
}
