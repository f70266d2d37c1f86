// Package planner cuts a plan into stages. It takes the undistributed plan with its scans already planned (files pruned
// and counted) and gives stages whose tasks say for each leaf exactly what it reads.
//
// # How it works
//
// Each node is distributed after its inputs. What comes back is a piece: a plan fragment, and the units in which it can
// be run. A unit assigns something to read to each leaf of the fragment: a file group, a shuffle partition, constants. A
// piece with one unit runs in one task and may hold any operator. A piece with several units may be run with the units
// spread over tasks in any way: its rows are the union over its units. Strategies (one file each) keep that true:
//
//	scan.go       a unit per file group
//	extension.go  a unit per group of another table format's splits
//	aggregate.go  partial and final aggregates, or a repartition on the keys; beside it aggregate_split.go (calls as states
//	              that merge), aggregate_states.go and aggregate_moments.go (the states of each function),
//	              aggregate_distinct.go (DISTINCT calls) and aggregate_sets.go (grouping sets)
//	early.go      an aggregate's states computed below the join that it stands on, and merged above
//	join.go       broadcast, replicated, or partitioned on the keys
//	order.go      sort, top-N, limit; beside it range_sort.go (ORDER BY of a large result, by ranges of its keys)
//	distinct.go   DISTINCT and DISTINCT ON, in each task and again after repartitioning
//	window.go     windows, by repartitioning on each PARTITION BY
//	asof.go       ASOF joins, by their equality keys
//	setop.go      UNION ALL side by side, the others by repartitioning
//	delim.go      correlated subqueries: the outer rows and their distinct keys computed once, then an ordinary join
//	cte.go        a common table expression as a stage, or as part of its only reader
//	single.go     everything else: inputs gathered, the node in one task
//	write.go      data files, clustered by partition values
//
// Before all that, sides of joins are filtered by what a condition with OR says of one side alone (plan.ImplyFilters).
//
// cost.go says which way of joining takes less time, replicate.go what every task may read again instead of sending it,
// align.go how a join follows a partitioning that is there already. ranges.go divides scans by ranges of a key instead of by
// files, so that joins and groups of it need no exchange; divide.go says where, and origin.go follows a column to the scans that
// it comes from.
//
// An exchange ends a piece as a stage of its own (ShuffleWrite at its root) and starts the next one with a ShuffleRead.
// Exchanges are all that distribution adds: they never change what a node means (docs/architecture.md, invariant 1).
//
// # While it runs
//
// With a Runtime (Adapt) the stages run while later ones are planned. At a join the smaller side becomes a stage first
// (adapt.go); what it has really written decides how the join runs, whether anything is left to do, and which rows of the
// other side are worth reading (filter.go). How many tasks a stage has is decided when its inputs are there: small
// partitions go together (tasks.go), large ones are split (skew.go). testdata/adaptive shows each rule, on and off.
//
// tasks.go then packs units into tasks and explain.go shows the result.
package planner
