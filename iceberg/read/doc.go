// Package read turns an Iceberg scan over an assigned group of files into DuckDB SQL: one SELECT over read_parquet calls
// with a field-id schema, so that renamed, added, dropped and promoted columns read as the table's schema says, with row
// ranges for splits and anti-joins for position deletes, equality deletes and deletion vectors.
//
// It reads exactly the group: nothing is planned here (rule 9). It opens footers and deletion vectors, no data. Start
// with read.go.
package read
