package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// sealedStream is an executor's stream in a cluster with a secret: it seals what is sent and opens what is received.
type sealedStream struct {
	attachStream
	sealer *wire.Sealer
	// challenge is random, so that nothing said on another stream can be said again on this one.
	challenge string
	executor  string // known once it has registered
}

// authenticated is the stream as it is to be used. The header goes out at once, also without a secret: an executor with one
// waits for it.
func (c *Cluster) authenticated(stream attachStream) (attachStream, error) {
	s := &sealedStream{attachStream: stream, sealer: c.o.Sealer}
	if s.sealer != nil {
		s.challenge = rand.Text()
	}
	if err := stream.SendHeader(metadata.Pairs(wire.ChallengeHeader, s.challenge)); err != nil {
		return nil, fmt.Errorf("send the challenge: %w", err)
	}
	return s, nil
}

func (s *sealedStream) Send(m *seracv1.AttachResponse) error {
	if s.sealer == nil {
		return s.attachStream.Send(m)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("seal a message: %w", err)
	}
	return s.attachStream.Send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Sealed{
		Sealed: s.sealer.Seal(wire.ToExecutor(s.challenge, s.executor), b),
	}})
}

func (s *sealedStream) Recv() (*seracv1.AttachRequest, error) {
	m, err := s.attachStream.Recv()
	if err != nil || s.sealer == nil && m.GetSealed() == nil {
		return m, err
	}
	b, err := s.sealer.Open(wire.ToScheduler(s.challenge), m.GetSealed())
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	m = &seracv1.AttachRequest{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, status.Error(codes.InvalidArgument, "a sealed message cannot be parsed")
	}
	if r := m.GetRegister(); r != nil && s.executor == "" {
		s.executor = r.GetExecutorId()
	}
	if m.GetSealed() != nil {
		return nil, status.Error(codes.InvalidArgument, "a sealed message holds a sealed message")
	}
	return m, nil
}

// refusedBy is an event for a first message that could not be opened.
func (c *Cluster) refusedBy(err error) error {
	if status.Code(err) == codes.Unauthenticated {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.emit(ExecutorRefused{Reason: status.Convert(err).Message()})
	}
	if errors.Is(err, wire.ErrSeal) {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return err
}
