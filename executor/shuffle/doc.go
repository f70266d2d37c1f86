// Package shuffle keeps rows between stages as Parquet files that DuckDB writes and reads.
//
// carrier.go says which types Parquet carries exactly, and how the others are put into types that it does; sql.go writes
// the COPY that a map task runs and the SELECT that a reduce task reads. Store keeps the files of an executor by task and
// gives their disk back; Fetcher brings files of other executors here.
//
// The package never looks into a file: rows stay in DuckDB.
package shuffle
