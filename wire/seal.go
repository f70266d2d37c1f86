package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Why a sealed message is refused. A caller tells them apart with errors.Is; all of them are ErrSeal.
var (
	ErrSeal = errors.New("message refused")
	// ErrNotSealed: it came without a seal, from somebody without a cluster secret.
	ErrNotSealed = fmt.Errorf("%w: it is not sealed, and this process has a cluster secret (cluster.secret): set the same one on both sides", ErrSeal)
	// ErrWrongSeal: another secret, changed bytes, or a message that was meant for somebody else.
	ErrWrongSeal = fmt.Errorf("%w: its seal is wrong: the cluster secrets (cluster.secret) differ, or the message was changed", ErrSeal)
	// ErrSealExpired: it is older than it may be, or the clocks differ by as much.
	ErrSealExpired = fmt.Errorf("%w: its seal has expired (or the two clocks are minutes apart)", ErrSeal)
	// ErrReplayed: it was opened before.
	ErrReplayed = fmt.Errorf("%w: it has been received before", ErrSeal)
)

const (
	nonceSize = 16
	// sealLifetime is how long a sealed message may be on its way, the difference of the clocks included.
	sealLifetime = 2 * time.Minute
)

// Sealer authenticates messages between processes that share a secret: HMAC-SHA256 over the exact bytes, whom they are for, a
// nonce and an expiry. It hides nothing; that is TLS's work. A nil Sealer, that of an empty secret, seals nothing and refuses
// what is sealed. It is safe for concurrent use.
type Sealer struct {
	secret Secret
	now    func() time.Time

	mu sync.Mutex
	// seen are the nonces of the messages opened that have not expired: captured, they must not be opened again.
	seen  map[[nonceSize]byte]time.Time
	sweep time.Time // when the expired among them are next removed
}

// NewSealer makes a Sealer of a shared secret; nil for an empty one.
func NewSealer(secret Secret) *Sealer {
	if secret.Empty() {
		return nil
	}
	return &Sealer{secret: secret, now: time.Now, seen: map[[nonceSize]byte]time.Time{}}
}

// Seal seals bytes for an audience: a text that names the receiver and the occasion so exactly that the message means nothing
// to anybody else, nor at another time. The message holds b.
func (s *Sealer) Seal(audience string, b []byte) *seracv1.Sealed {
	m := &seracv1.Sealed{
		Message: b, Nonce: make([]byte, nonceSize), ExpiresUnixMillis: s.now().Add(sealLifetime).UnixMilli(),
	}
	_, _ = rand.Read(m.Nonce) // it never fails
	m.Mac = s.mac(audience, m)
	return m
}

// Open gives the bytes of a sealed message, once. It says why when it does not: see ErrSeal.
func (s *Sealer) Open(audience string, m *seracv1.Sealed) ([]byte, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: it is sealed, and this process has no cluster secret (cluster.secret)", ErrSeal)
	}
	if m == nil {
		return nil, ErrNotSealed
	}
	if len(m.GetNonce()) != nonceSize || !hmac.Equal(s.mac(audience, m), m.GetMac()) {
		return nil, ErrWrongSeal
	}
	now, expires := s.now(), time.UnixMilli(m.GetExpiresUnixMillis())
	// One from far ahead would have to be remembered for as long.
	if !now.Before(expires) || expires.Sub(now) > 2*sealLifetime {
		return nil, ErrSealExpired
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	nonce := [nonceSize]byte(m.GetNonce())
	if _, ok := s.seen[nonce]; ok {
		return nil, ErrReplayed
	}
	if now.After(s.sweep) {
		for n, until := range s.seen {
			if now.After(until) {
				delete(s.seen, n)
			}
		}
		s.sweep = now.Add(sealLifetime)
	}
	s.seen[nonce] = expires
	return m.GetMessage(), nil
}

// mac is over all parts of a message, each with its length before it, so that no two messages give the same text.
func (s *Sealer) mac(audience string, m *seracv1.Sealed) []byte {
	h := hmac.New(sha256.New, []byte(s.secret.Reveal()))
	var number [8]byte
	write := func(b []byte) {
		binary.BigEndian.PutUint64(number[:], uint64(len(b)))
		h.Write(number[:])
		h.Write(b)
	}
	write([]byte("serac.v1.seal"))
	write([]byte(audience))
	write(m.GetNonce())
	write(binary.BigEndian.AppendUint64(nil, uint64(m.GetExpiresUnixMillis())))
	write(m.GetMessage())
	return h.Sum(nil)
}

// ChallengeHeader is the header in which a scheduler gives an executor the challenge of their stream; empty without a secret.
const ChallengeHeader = "serac-challenge"

// ToScheduler is the audience of what an executor says on the stream with that challenge.
func ToScheduler(challenge string) string { return "to the scheduler: " + challenge }

// ToExecutor is the audience of what the scheduler says there to the executor with that id.
func ToExecutor(challenge, executor string) string {
	return "to executor " + executor + ": " + challenge
}
