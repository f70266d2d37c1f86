// Package inspect makes the rows of a table's metadata tables: its snapshots, its history, its files ... Names and types
// of their columns are those of Iceberg's metadata tables in Spark. kind.go lists the tables and their columns, rows.go
// makes the rows and writes them as a Parquet file that DuckDB reads.
//
// Columns needs a table's metadata alone, so the scheduler plans with it. WriteParquet also reads manifests, where the kind
// is about files; it runs on executors, on a table rebuilt without its catalog, and holds a batch of rows at a time.
package inspect
