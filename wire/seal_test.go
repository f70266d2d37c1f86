package wire

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

const clusterSecret = "hunter2-of-the-cluster"

// at is a Sealer whose clock stands still.
func at(secret string, now time.Time) *Sealer {
	s := NewSealer(NewSecret(secret))
	s.now = func() time.Time { return now }
	return s
}

func TestSealedMessagesOpenOnce(t *testing.T) {
	now := time.Now()
	sender, receiver := at(clusterSecret, now), at(clusterSecret, now.Add(time.Second))
	m := sender.Seal("b", []byte("text"))
	b, err := receiver.Open("b", m)
	require.NoError(t, err)
	require.Equal(t, "text", string(b))
	_, err = receiver.Open("b", m)
	require.ErrorIs(t, err, ErrReplayed)
	require.NotEqual(t, m.GetMac(), sender.Seal("b", []byte("text")).GetMac(), "equal texts are sealed differently")
}

func TestSealRefuses(t *testing.T) {
	now := time.Now()
	sender := at(clusterSecret, now)
	for name, c := range map[string]struct {
		receiver *Sealer
		audience string
		change   func(*seracv1.Sealed) *seracv1.Sealed
		why      error
		says     string
	}{
		"wrong secret":     {receiver: at("another", now), why: ErrWrongSeal, says: "cluster.secret"},
		"other audience":   {audience: "c", why: ErrWrongSeal},
		"expired":          {receiver: at(clusterSecret, now.Add(sealLifetime)), why: ErrSealExpired, says: "clocks"},
		"from far ahead":   {receiver: at(clusterSecret, now.Add(-2*sealLifetime)), why: ErrSealExpired},
		"not sealed":       {change: func(*seracv1.Sealed) *seracv1.Sealed { return nil }, why: ErrNotSealed, says: "same one on both sides"},
		"longer life":      {change: func(m *seracv1.Sealed) *seracv1.Sealed { m.ExpiresUnixMillis++; return m }, why: ErrWrongSeal},
		"other nonce":      {change: func(m *seracv1.Sealed) *seracv1.Sealed { m.Nonce[0]++; return m }, why: ErrWrongSeal},
		"cut nonce":        {change: func(m *seracv1.Sealed) *seracv1.Sealed { m.Nonce = m.Nonce[1:]; return m }, why: ErrWrongSeal},
		"cut mac":          {change: func(m *seracv1.Sealed) *seracv1.Sealed { m.Mac = m.Mac[:31]; return m }, why: ErrWrongSeal},
		"no mac":           {change: func(m *seracv1.Sealed) *seracv1.Sealed { m.Mac = nil; return m }, why: ErrWrongSeal},
		"moved boundaries": {change: func(m *seracv1.Sealed) *seracv1.Sealed { m.Message = append(m.Message, 0); return m }, why: ErrWrongSeal},
	} {
		t.Run(name, func(t *testing.T) {
			receiver, audience := c.receiver, c.audience
			if receiver == nil {
				receiver = at(clusterSecret, now)
			}
			if audience == "" {
				audience = "b"
			}
			m := sender.Seal("b", []byte("text"))
			if c.change != nil {
				m = c.change(m)
			}
			b, err := receiver.Open(audience, m)
			require.Nil(t, b)
			require.ErrorIs(t, err, c.why)
			require.ErrorIs(t, err, ErrSeal)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), clusterSecret)
		})
	}
	// Every byte counts.
	m := sender.Seal("b", []byte("the exact bytes"))
	for i := range m.GetMessage() {
		changed := proto.CloneOf(m)
		changed.Message[i] ^= 1
		_, err := at(clusterSecret, now).Open("b", changed)
		require.ErrorIs(t, err, ErrWrongSeal)
	}
	// Off on one side.
	require.Nil(t, NewSealer(Secret{}))
	_, err := (*Sealer)(nil).Open("b", m)
	require.ErrorIs(t, err, ErrSeal)
	require.ErrorContains(t, err, "no cluster secret")
}

// What was opened is forgotten when it has expired, not before.
func TestSealForgetsExpiredNonces(t *testing.T) {
	now := time.Now()
	clock := &now
	s := at(clusterSecret, now)
	s.now = func() time.Time { return *clock }
	for range 100 {
		_, err := s.Open("b", s.Seal("b", nil))
		require.NoError(t, err)
	}
	last := s.Seal("b", nil)
	_, err := s.Open("b", last)
	require.NoError(t, err)
	later := now.Add(sealLifetime - time.Second)
	clock = &later
	_, err = s.Open("b", last)
	require.ErrorIs(t, err, ErrReplayed)
	much := now.Add(3 * sealLifetime)
	clock = &much
	_, err = s.Open("b", s.Seal("b", nil))
	require.NoError(t, err)
	require.Len(t, s.seen, 1)
}

func TestSealerPrintsNoSecret(t *testing.T) {
	s := NewSealer(NewSecret(clusterSecret))
	j, err := json.Marshal(struct{ S *Sealer }{s})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", s, s, s)+string(j), clusterSecret)
}

func TestTickets(t *testing.T) {
	ticket := &seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Result{Result: &seracv1.TaskId{JobId: "j", Task: 3}}}
	s := NewSealer(NewSecret(clusterSecret))
	for _, sealer := range []*Sealer{nil, s} {
		b, err := EncodeTicket(sealer, "host:1", ticket)
		require.NoError(t, err)
		got, err := DecodeTicket(sealer, "host:1", b)
		require.NoError(t, err)
		require.True(t, proto.Equal(ticket, got))
		if sealer != nil {
			_, err = DecodeTicket(sealer, "host:1", b)
			require.ErrorIs(t, err, ErrReplayed)
			b, err = EncodeTicket(sealer, "host:1", ticket)
			require.NoError(t, err)
			_, err = DecodeTicket(sealer, "host:2", b)
			require.ErrorIs(t, err, ErrWrongSeal, "meant for another executor")
			_, err = DecodeTicket(nil, "host:1", b)
			require.ErrorIs(t, err, ErrSeal)
		} else {
			_, err = DecodeTicket(s, "host:1", b)
			require.ErrorIs(t, err, ErrNotSealed)
		}
		_, err = DecodeTicket(sealer, "host:1", []byte{0xff})
		require.Error(t, err)
	}
}
