// Package write turns an IcebergWrite into a DuckDB COPY and the COPY's statistics into Iceberg data files: field ids,
// compression and row-group sizes from the table's properties, NOT NULL checks, partition values by every transform, column
// bounds as the specification wants them, and final names under the table's data location.
//
// It commits nothing: what it makes travels to the scheduler as DataFile messages, and what is not committed is deleted.
// Start with writer.go; transform.go has the partition transforms as expressions, bucket.go the murmur3 hash as a DuckDB
// function that every database rendering those expressions must register.
package write
