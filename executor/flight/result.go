package flight

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// batchBytes is the size that batches are cut down to, when they have more than one row.
const batchBytes = 1 << 20

// resultWriter sends a result as Arrow IPC over a DoGet stream.
type resultWriter struct {
	stream arrowflight.FlightService_DoGetServer
	writer *arrowflight.Writer
}

func (w *resultWriter) Start(schema *arrow.Schema) error {
	if w.writer != nil {
		return errors.New("send result: started twice")
	}
	w.writer = arrowflight.NewRecordWriter(w.stream, ipc.WithSchema(schema))
	return nil
}

func (w *resultWriter) Write(batch arrow.RecordBatch) error {
	if w.writer == nil {
		return errors.New("send result: not started")
	}
	if n := batch.NumRows(); n > 1 && size(batch) > batchBytes {
		for _, half := range [][2]int64{{0, n / 2}, {n / 2, n}} {
			part := batch.NewSlice(half[0], half[1])
			err := w.Write(part)
			part.Release()
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := w.writer.Write(batch); err != nil {
		return fmt.Errorf("send result: %w", err)
	}
	return nil
}

// finish ends a result that is complete: a result without rows still has its schema.
func (w *resultWriter) finish() error {
	if w.writer == nil {
		return errors.New("send result: it has no schema")
	}
	writer := w.writer
	w.writer = nil
	if err := writer.Close(); err != nil {
		return fmt.Errorf("end result: %w", err)
	}
	return nil
}

// abort frees the writer of a result that was not finished.
func (w *resultWriter) abort() {
	if w.writer != nil {
		_ = w.writer.Close()
	}
}

// size is about what the batch takes on the wire. A slice counts for what it shows of its arrays, not for what they hold.
func size(batch arrow.RecordBatch) int64 {
	var n int64
	for _, column := range batch.Columns() {
		n += arraySize(column)
	}
	return n
}

func arraySize(a arrow.Array) int64 {
	rows := int64(a.Len())
	if rows == 0 {
		return 0
	}
	n := rows / 8
	switch a := a.(type) {
	case *array.Null:
		return 0
	case *array.String:
		return n + 4*rows + int64(len(a.ValueBytes()))
	case *array.LargeString:
		return n + 8*rows + int64(len(a.ValueBytes()))
	case *array.Binary:
		return n + 4*rows + int64(len(a.ValueBytes()))
	case *array.LargeBinary:
		return n + 8*rows + int64(len(a.ValueBytes()))
	case *array.Struct:
		for i := range a.NumField() {
			n += arraySize(a.Field(i))
		}
		return n
	case array.ListLike: // lists, maps, arrays of a fixed size
		from, _ := a.ValueOffsets(0)
		_, to := a.ValueOffsets(a.Len() - 1)
		values := array.NewSlice(a.ListValues(), from, to)
		defer values.Release()
		return n + 8*rows + arraySize(values)
	}
	if t, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		return n + rows*int64(t.BitWidth())/8
	}
	return n + int64(a.Data().SizeInBytes())
}
