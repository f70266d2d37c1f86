// Package flight is the executor's Arrow Flight service and its client side: DoGet of a result task's rows, and of a
// shuffle file's bytes. The ticket is a serialized seracv1.FlightTicket.
//
// A result travels as Arrow IPC, as in any Flight service. A shuffle file travels as its own bytes: FlightData messages
// whose data_body is the next piece of the file, with nothing else set. Messages stay far below gRPC's customary limit
// of 4 MiB; only a single row beyond that makes a larger one (see MaxMessageBytes).
//
// Errors are gRPC statuses with a seracv1.Failure in their details: read them with wire.KindOf and wire.FailureFrom.
package flight
