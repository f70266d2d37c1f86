// Package reference answers queries with DuckDB alone over the data files of a catalog's tables. It is what Serac's
// answers are held against: the same files, without Serac's scans, plans, stages or executors. Tables with deletes are
// not for it.
package reference
