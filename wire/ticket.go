package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// EncodeTicket is a Flight ticket for the executor that advertises address, sealed unless s is nil.
func EncodeTicket(s *Sealer, address string, t *seracv1.FlightTicket) ([]byte, error) {
	b, err := proto.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("flight ticket: %w", err)
	}
	if s == nil {
		return b, nil
	}
	sealed := s.Seal(ticketAudience(address), b)
	if b, err = proto.Marshal(&seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Sealed{Sealed: sealed}}); err != nil {
		return nil, fmt.Errorf("flight ticket: %w", err)
	}
	return b, nil
}

// DecodeTicket is the ticket that EncodeTicket has encoded. With a Sealer it must be sealed for address, and is accepted once.
func DecodeTicket(s *Sealer, address string, b []byte) (*seracv1.FlightTicket, error) {
	t := &seracv1.FlightTicket{}
	if err := proto.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("flight ticket: %w", err)
	}
	if s == nil && t.GetSealed() == nil {
		return t, nil
	}
	inner, err := s.Open(ticketAudience(address), t.GetSealed())
	if err != nil {
		return nil, fmt.Errorf("flight ticket: %w", err)
	}
	t = &seracv1.FlightTicket{}
	if err := proto.Unmarshal(inner, t); err != nil {
		return nil, fmt.Errorf("flight ticket: %w", err)
	}
	return t, nil
}

func ticketAudience(address string) string { return "flight ticket for " + address }
