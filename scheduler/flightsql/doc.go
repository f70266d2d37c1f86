// Package flightsql is the Arrow Flight SQL front door: it turns the calls of Flight SQL clients (ADBC, JDBC, DB-API,
// `serac sql`) into calls of an engine.Engine, and the engine's batches into Flight streams.
//
// It knows no plans, executors or catalogs, parses no SQL and holds no rows but the ones on their way to a client.
//
// The way of a statement: query.go or prepared.go takes the call, statement.go starts it and pumps its batches into a
// queue of one, stream.go hands them to the client, poll.go shows progress and cancels. A statement that nobody fetches
// expires; one whose client goes away is cancelled. A call belongs to a session (session.go): that of its cookie, or
// that of its connection.
//
// One deliberate difference between queries and updates: GetFlightInfo of a query returns as soon as its schema is
// known, GetFlightInfo of an update (DDL and DML arrive so from clients that prepare everything) returns when the update
// has ended, so that it has run exactly once, and its error is seen, even if the client never fetches its row count.
package flightsql
