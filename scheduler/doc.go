// Package scheduler runs statements: it parses their heads, has queries bound, plans scans once, cuts plans into stages,
// hands jobs to the cluster and alone commits to the catalog. It implements engine.Engine for the front doors.
//
//	scheduler.go   the options and the engine's entry points
//	query.go       SELECT: bind, plan scans, decide between one task and a distribution
//	compile.go     stages to a job: fragments encoded, assignments written out
//	write.go       INSERT and CREATE TABLE AS: a job that writes data files, then one commit
//	ddl.go         CREATE and DROP
//	show.go        SHOW, DESCRIBE, SET, RESET, USE
//	explain.go     EXPLAIN and EXPLAIN ANALYZE; explain_substrait.go the plan for others
//	settings.go    what SET may change
//	execution.go   statements on their way
//
// The rooms below it: sql (statement heads), bind (DuckDB as the binder), planner (stages), job (the state machine),
// cluster (executors), engine (what front doors see), flightsql (a front door).
package scheduler
