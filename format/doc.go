// Package format is how a table format beside Iceberg is built into Serac: a Format is given to the server, on the
// scheduler and on every executor, and its tables can be read by any statement, together with Iceberg's.
//
//	format.go   the interfaces that a format implements
//	set.go      the formats of a process: their codecs, found by message name, and the way from a split to a SELECT
//
// A format is asked three times. The scheduler opens a Catalog of it for each [catalogs.NAME] of its type in the
// configuration. When a statement reads a table, Table.Plan gives, once, the plan's leaf and the splits behind it. The
// leaf travels to executors as the message that the format's codec makes, the splits as the format's own messages, and
// an executor asks SQL for the SELECT that reads the splits that its task is assigned. Planning, distribution, joins with
// Iceberg tables, retries and results are Serac's.
//
// Nothing here knows a format. examples/customformat is one, and its README the walk through writing one.
package format
