package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// MaxMessageBytes is the largest message that the service sends: clients of results must accept that much, since one row
// cannot be split. All other messages stay below 4 MiB.
const MaxMessageBytes = 256 << 20

// chunkBytes is how much of a shuffle file one message carries.
const chunkBytes = 512 << 10

// Results hands out the rows of result tasks.
type Results interface {
	// ReadResult writes a STREAMING task's rows to w and returns when all are written, or with the task's error. It can be
	// called once for a task. The end of ctx cancels the task.
	ReadResult(ctx context.Context, id *seracv1.TaskId, w BatchWriter) error
}

// BatchWriter takes a result: its schema once, then its batches, which stay the caller's.
type BatchWriter interface {
	Start(schema *arrow.Schema) error
	Write(batch arrow.RecordBatch) error
}

// Files opens shuffle files.
type Files interface {
	// OpenShuffle opens the file of a partition that the producer wrote; the caller closes it. Its error is a wire.Failure.
	OpenShuffle(producer *seracv1.TaskId, partition int) (*os.File, error)
}

// Server is the Flight service. Make it with NewServer.
type Server struct {
	arrowflight.BaseFlightServer
	grpc    *grpc.Server
	results Results
	files   Files

	sealer  *wire.Sealer
	address string
}

// Authenticate takes only tickets that are sealed for the address, which the executor advertises; call it before Serve.
func (s *Server) Authenticate(sealer *wire.Sealer, address string) {
	s.sealer, s.address = sealer, address
}

// NewServer serves results and files; both are called concurrently.
func NewServer(results Results, files Files) *Server {
	s := &Server{results: results, files: files}
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(1<<20), // tickets
		grpc.MaxSendMsgSize(MaxMessageBytes),
		// Clients ping to notice a host that is gone.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	arrowflight.RegisterFlightServiceServer(s.grpc, s)
	return s
}

// Serve accepts connections until Stop.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve flight: %w", err)
	}
	return nil
}

// Stop closes all connections, which ends the calls on them, and waits for their handlers.
func (s *Server) Stop() { s.grpc.Stop() }

// DoGet implements Flight's DoGet.
func (s *Server) DoGet(ticket *arrowflight.Ticket, stream arrowflight.FlightService_DoGetServer) error {
	m, err := wire.DecodeTicket(s.sealer, s.address, ticket.GetTicket())
	if err != nil {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_INTERNAL, err)
	}
	switch t := m.GetTicket().(type) {
	case *seracv1.FlightTicket_Result:
		return asStatus(s.sendResult(t.Result, stream))
	case *seracv1.FlightTicket_Shuffle:
		return asStatus(s.sendFile(t.Shuffle, stream))
	default:
		return wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "flight ticket of no known kind")
	}
}

// asStatus gives every error its kind in the status's details.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	// A wrapped Failure would lose its details: gRPC looks at the outermost error only.
	return wire.ErrorFrom(wire.FailureFrom(err))
}

func (s *Server) sendResult(id *seracv1.TaskId, stream arrowflight.FlightService_DoGetServer) error {
	w := &resultWriter{stream: stream}
	defer w.abort()
	if err := s.results.ReadResult(stream.Context(), id, w); err != nil {
		return err
	}
	return w.finish()
}

func (s *Server) sendFile(file *seracv1.ShuffleFile, stream arrowflight.FlightService_DoGetServer) error {
	f, err := s.files.OpenShuffle(file.GetProducer(), int(file.GetPartition()))
	if err != nil {
		return err
	}
	defer f.Close()
	// Send has serialized the message when it returns, so one buffer does.
	chunk := make([]byte, chunkBytes)
	for {
		n, err := f.Read(chunk)
		if n > 0 {
			if err := stream.Send(&arrowflight.FlightData{DataBody: chunk[:n]}); err != nil {
				return fmt.Errorf("send shuffle file: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return wire.Failf(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, "read shuffle file: %w", err)
		}
	}
}
