// Package corpora holds queries and the data to run them on: the project's own constructs, and, where the query corpora lie
// beside the project (../shared/corpora), TPC-DS, ClickBench and more constructs. Binder and planner are tested with them.
//
// The data are made up: values follow from the row number and the column's name, over domains that are small and that
// hold what the queries compare with, so that joins and filters find something.
package corpora
