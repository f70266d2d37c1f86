package tpch

import (
	"embed"
	"fmt"
)

//go:embed plans/*/*.pb
var plans embed.FS

// Producers are the programs that made plans of the queries; plans/README.md says how.
var Producers = []string{"datafusion", "duckdb", "ibis"}

// SubstraitPlan is the serialised Substrait plan that a producer made of query n, nil when it could not.
func SubstraitPlan(producer string, n int) []byte {
	b, err := plans.ReadFile(fmt.Sprintf("plans/%s/q%02d.pb", producer, n))
	if err != nil {
		return nil
	}
	return b
}
