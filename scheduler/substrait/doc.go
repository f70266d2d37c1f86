// Package substrait turns a Substrait plan that a client sent into the text of a query.
//
// The text is DuckDB's SQL over the plan's named tables. It then goes the way of every query: DuckDB resolves the
// overloads of its functions, decorrelates its subqueries and optimises it, and the planner distributes it. What a plan
// says of types is kept by casts, what it says of order by ORDER BY at the top.
//
// The package runs nothing, knows no catalog and resolves no table. Plans are never trusted: one that refers to what it does not declare,
// nests too deeply or grows too large is an error, and so is every relation, function, option or type that has no
// counterpart here; the error names it. It is always a wire.Failure of the statement's kind.
//
// Read on in plan.go (a plan's outside), then relation.go (the one switch over relations) and query.go (how relations
// become few nested SELECTs), expression.go, and functions.go (Substrait's functions as DuckDB's).
package substrait
