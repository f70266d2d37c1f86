package executor

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// sealedStream is the stream to the scheduler in a cluster with a secret: it seals what is sent and opens what is received.
type sealedStream struct {
	seracv1.SchedulerService_AttachClient
	sealer              *wire.Sealer
	challenge, executor string
}

// authenticated is the stream as it is to be used. id is what the executor registers under; it is new for each stream.
func (e *Executor) authenticated(stream seracv1.SchedulerService_AttachClient, id string) (seracv1.SchedulerService_AttachClient, error) {
	s := &sealedStream{SchedulerService_AttachClient: stream, sealer: e.o.Sealer, executor: id}
	if s.sealer == nil {
		return s, nil
	}
	header, err := stream.Header()
	if err != nil {
		return nil, err
	}
	if values := header.Get(wire.ChallengeHeader); len(values) > 0 {
		s.challenge = values[0]
	}
	if s.challenge == "" {
		return nil, status.Error(codes.Unauthenticated, "this executor has a cluster secret (cluster.secret), and the scheduler has none")
	}
	return s, nil
}

func (s *sealedStream) Send(m *seracv1.AttachRequest) error {
	if s.sealer == nil {
		return s.SchedulerService_AttachClient.Send(m)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("seal a message: %w", err)
	}
	return s.SchedulerService_AttachClient.Send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Sealed{
		Sealed: s.sealer.Seal(wire.ToScheduler(s.challenge), b),
	}})
}

func (s *sealedStream) Recv() (*seracv1.AttachResponse, error) {
	m, err := s.SchedulerService_AttachClient.Recv()
	if err != nil || s.sealer == nil && m.GetSealed() == nil {
		return m, err
	}
	b, err := s.sealer.Open(wire.ToExecutor(s.challenge, s.executor), m.GetSealed())
	if err != nil {
		return nil, fmt.Errorf("the scheduler's message: %w", err)
	}
	m = &seracv1.AttachResponse{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, errors.New("the scheduler's message: what was sealed cannot be parsed")
	}
	return m, nil
}
