// Package catalog opens Iceberg catalogs and gives handles of their tables: SQLite (iceberg-go's SQL catalog), REST and
// Hadoop. It runs on the scheduler alone: executors hold no catalog and no catalog token, and what they get of a table
// (Table.Wire) holds storage properties only.
//
// Every call returns when its context is done, also where the catalog below does not listen (rule 25). Files are planned
// in package scan and committed in package commit.
package catalog
