package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	arrowutil "github.com/apache/arrow-go/v18/arrow/util"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fetch streams a statement's batches to the client whose call the context is. When the client goes away first, the
// statement is cancelled.
func (s *Server) fetch(ctx context.Context, st *statement) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	if !st.claim() {
		select {
		case <-st.ended:
			if st.err != nil {
				return nil, nil, st.err
			}
		default:
		}
		return nil, nil, status.Error(codes.FailedPrecondition, "the result has been fetched already; a ticket is good for one DoGet")
	}
	out := make(chan flight.StreamChunk)
	// The pump may be waiting for the engine, with nothing to send, when the client goes.
	watch := context.AfterFunc(ctx, func() { st.stop(errGone) })
	go func() {
		defer close(out)
		for batch := range st.batches {
			ok := sendCut(ctx, out, batch, s.o.MaxMessageBytes)
			batch.Release()
			if !ok {
				st.discard()
				return
			}
		}
		watch()
		if st.err != nil {
			send(ctx, out, flight.StreamChunk{Err: statusOf(st.err)})
		}
	}()
	return st.schema, out, nil
}

// sendCut sends a batch in pieces of about limit bytes, at least a row each. It reports false when the client has gone.
func sendCut(ctx context.Context, out chan<- flight.StreamChunk, batch arrow.RecordBatch, limit int64) bool {
	rows := batch.NumRows()
	size := arrowutil.TotalRecordSize(batch)
	step := rows
	if size > limit {
		step = max(1, rows*limit/size)
	}
	for from := int64(0); from < rows; from += step {
		if !send(ctx, out, flight.StreamChunk{Data: batch.NewSlice(from, min(rows, from+step))}) {
			return false
		}
	}
	return true
}

func send(ctx context.Context, out chan<- flight.StreamChunk, chunk flight.StreamChunk) bool {
	select {
	case out <- chunk:
		return true
	case <-ctx.Done():
		if chunk.Data != nil {
			chunk.Data.Release()
		}
		return false
	}
}

// streamOf is the stream of one batch, which it takes over.
func streamOf(ctx context.Context, batch arrow.RecordBatch) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	out := make(chan flight.StreamChunk)
	go func() {
		defer close(out)
		defer batch.Release()
		sendCut(ctx, out, batch, 2<<20)
	}()
	return batch.Schema(), out, nil
}

// countBatch is the result of an update: how many rows it changed.
func countBatch(schema *arrow.Schema, changed int64) (arrow.RecordBatch, error) {
	if schema.NumFields() != 1 || schema.Field(0).Type.ID() != arrow.INT64 {
		return nil, status.Error(codes.Internal, "the result of an update is not one BIGINT")
	}
	b := array.NewInt64Builder(alloc)
	defer b.Release()
	b.Append(changed)
	column := b.NewArray()
	defer column.Release()
	return array.NewRecordBatch(schema, []arrow.Array{column}, 1), nil
}
