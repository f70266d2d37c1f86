// Package simulate runs distributed plans inside one DuckDB: each task is a query over its share of the rows, each stage's
// output a table with the partition as a column (or real shuffle files). What it shows is that the stages mean what the
// statement means (docs/architecture.md, invariant 1); processes and wires are tested in tests/e2e. It stands for the
// scheduler and the executors in the planner's tests and in tests/fuzz, at a few milliseconds a statement.
//
// simulator.go binds and plans, stage.go runs tasks, adapt.go runs stages while later ones are planned, check.go compares
// with the statement's own answer in the settings of settings.go.
package simulate
