package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"unicode/utf8"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The sentinels, one for each kind: errors.Is(err, wire.ErrShuffleFetch) holds for a Failure of that kind, on the process
// where it happened and on every process it reaches.
var (
	ErrTransport          = errors.New("transport failed")
	ErrExecutorLost       = errors.New("executor lost")
	ErrShuffleFetch       = errors.New("shuffle fetch failed")
	ErrResourcesExhausted = errors.New("resources exhausted")
	ErrCancelled          = errors.New("cancelled")
	ErrDeadline           = errors.New("deadline exceeded")
	ErrStatement          = errors.New("statement failed")
	ErrInternal           = errors.New("internal error")
	ErrHandedBack         = errors.New("task handed back")
	ErrBusy               = errors.New("busy")
)

// MaxMessage bounds an error's text, in bytes once it is percent-encoded: it travels in HTTP/2 headers, and clients refuse more
// than 8 KiB of those.
const MaxMessage = 6 << 10

// Failure is an error with the kind that decisions are made by. Its Message is for people: it is never parsed, and holds
// no secret.
type Failure struct {
	Kind    seracv1.FailureKind
	Message string
	// ShuffleFile is the file that could not be fetched; set for FAILURE_KIND_SHUFFLE_FETCH alone.
	ShuffleFile *seracv1.ShuffleFile
	// Cause is the error behind it on the process where it happened; it does not travel.
	Cause error
}

// Fail marks err as a failure of a kind. The text is err's; nil stays nil. An error that is a Failure already keeps its
// kind: whoever was nearest to the source knew best.
func Fail(kind seracv1.FailureKind, err error) error {
	if err == nil {
		return nil
	}
	var f *Failure
	if errors.As(err, &f) {
		return err
	}
	return &Failure{Kind: kind, Message: err.Error(), Cause: err}
}

// Failf makes a failure of a kind with a text of its own; %w keeps the cause.
func Failf(kind seracv1.FailureKind, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Failure{Kind: kind, Message: err.Error(), Cause: err}
}

// FailFetch says that a shuffle file could not be fetched. A fetch that ended because the fetching task did (its context
// is done) is that, and no fault of the file.
func FailFetch(file *seracv1.ShuffleFile, err error) error {
	if err == nil {
		return nil
	}
	switch kind := KindOf(err); kind {
	case seracv1.FailureKind_FAILURE_KIND_CANCELLED, seracv1.FailureKind_FAILURE_KIND_DEADLINE:
		return Fail(kind, err)
	}
	return &Failure{
		Kind: seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH,
		Message: fmt.Sprintf("fetch partition %d of stage %d task %d from executor %s: %v", file.GetPartition(),
			file.GetProducer().GetStage(), file.GetProducer().GetTask(), file.GetExecutorId(), err),
		ShuffleFile: file,
		Cause:       err,
	}
}

// Error is the message alone: the kind decides, the message explains.
func (f *Failure) Error() string {
	if f.Message == "" {
		return sentinel(f.Kind).Error()
	}
	return f.Message
}

// Unwrap is the cause on the process where it happened, nil elsewhere.
func (f *Failure) Unwrap() error { return f.Cause }

// Is says whether target is the sentinel of the failure's kind. A cancelled or timed-out failure is also the context's
// error of that name.
func (f *Failure) Is(target error) bool {
	switch f.Kind {
	case seracv1.FailureKind_FAILURE_KIND_CANCELLED:
		if target == context.Canceled {
			return true
		}
	case seracv1.FailureKind_FAILURE_KIND_DEADLINE:
		if target == context.DeadlineExceeded {
			return true
		}
	}
	return target == sentinel(f.Kind)
}

// GRPCStatus lets a Failure cross a gRPC call, Flight's included, with its kind: the message rides in the status, the rest
// in its details.
func (f *Failure) GRPCStatus() *status.Status {
	s := status.New(Code(f.Kind), Cut(f.Error()))
	// The message already stands in the status; it is not sent twice.
	detailed, err := s.WithDetails(&seracv1.Failure{Kind: f.Kind, ShuffleFile: f.ShuffleFile})
	if err != nil {
		return s
	}
	return detailed
}

// FailureFrom is err as it travels; nil for nil. What is not marked is classified by KindOf.
func FailureFrom(err error) *seracv1.Failure {
	if err == nil {
		return nil
	}
	m := &seracv1.Failure{Kind: KindOf(err), Message: Cut(err.Error())}
	if f := travelled(err); f != nil {
		m.ShuffleFile = f.GetShuffleFile()
		if s, ok := status.FromError(err); ok {
			m.Message = Cut(s.Message())
		}
	}
	var f *Failure
	if errors.As(err, &f) {
		m.ShuffleFile = f.ShuffleFile
	}
	return m
}

// ErrorFrom is a failure that arrived, as an error; nil for nil. A kind that this version does not know is internal.
func ErrorFrom(m *seracv1.Failure) error {
	if m == nil {
		return nil
	}
	return &Failure{Kind: known(m.GetKind()), Message: m.GetMessage(), ShuffleFile: m.GetShuffleFile()}
}

// KindOf classifies an error: a Failure by its kind, the context's errors, gRPC statuses (with a Failure in their details,
// or by code), broken connections; all else is internal. Nil is FAILURE_KIND_UNSPECIFIED.
func KindOf(err error) seracv1.FailureKind {
	if err == nil {
		return seracv1.FailureKind_FAILURE_KIND_UNSPECIFIED
	}
	var f *Failure
	if errors.As(err, &f) {
		return known(f.Kind)
	}
	for kind, s := range sentinels {
		if errors.Is(err, s) {
			return kind
		}
	}
	if m := travelled(err); m != nil {
		return known(m.GetKind())
	}
	switch {
	case errors.Is(err, context.Canceled):
		return seracv1.FailureKind_FAILURE_KIND_CANCELLED
	case errors.Is(err, context.DeadlineExceeded):
		return seracv1.FailureKind_FAILURE_KIND_DEADLINE
	}
	if code := status.Code(err); code != codes.Unknown {
		return kindOfCode(code)
	}
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrUnexpectedEOF) {
		return seracv1.FailureKind_FAILURE_KIND_TRANSPORT
	}
	return seracv1.FailureKind_FAILURE_KIND_INTERNAL
}

// sentinels has one error for each kind but UNSPECIFIED.
var sentinels = map[seracv1.FailureKind]error{
	seracv1.FailureKind_FAILURE_KIND_TRANSPORT:           ErrTransport,
	seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST:       ErrExecutorLost,
	seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH:       ErrShuffleFetch,
	seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED: ErrResourcesExhausted,
	seracv1.FailureKind_FAILURE_KIND_CANCELLED:           ErrCancelled,
	seracv1.FailureKind_FAILURE_KIND_DEADLINE:            ErrDeadline,
	seracv1.FailureKind_FAILURE_KIND_STATEMENT:           ErrStatement,
	seracv1.FailureKind_FAILURE_KIND_INTERNAL:            ErrInternal,
	seracv1.FailureKind_FAILURE_KIND_HANDED_BACK:         ErrHandedBack,
	seracv1.FailureKind_FAILURE_KIND_BUSY:                ErrBusy,
}

func sentinel(kind seracv1.FailureKind) error { return sentinels[known(kind)] }

// known is the kind, or internal for one that this version does not know.
func known(kind seracv1.FailureKind) seracv1.FailureKind {
	if _, ok := sentinels[kind]; ok {
		return kind
	}
	return seracv1.FailureKind_FAILURE_KIND_INTERNAL
}

// travelled is the Failure in the details of a gRPC status, nil when there is none.
func travelled(err error) *seracv1.Failure {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	for _, detail := range s.Details() {
		if f, ok := detail.(*seracv1.Failure); ok {
			return f
		}
	}
	return nil
}

// kindOfCode classifies a status that carries no Failure: it comes from gRPC itself or from another server.
func kindOfCode(code codes.Code) seracv1.FailureKind {
	switch code {
	case codes.Canceled:
		return seracv1.FailureKind_FAILURE_KIND_CANCELLED
	case codes.DeadlineExceeded:
		return seracv1.FailureKind_FAILURE_KIND_DEADLINE
	case codes.Unavailable, codes.Aborted:
		return seracv1.FailureKind_FAILURE_KIND_TRANSPORT
	case codes.ResourceExhausted:
		return seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED
	default:
		return seracv1.FailureKind_FAILURE_KIND_INTERNAL
	}
}

// Code is the gRPC code that a failure of a kind travels with.
func Code(kind seracv1.FailureKind) codes.Code {
	switch kind {
	case seracv1.FailureKind_FAILURE_KIND_TRANSPORT, seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST,
		seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, seracv1.FailureKind_FAILURE_KIND_HANDED_BACK,
		seracv1.FailureKind_FAILURE_KIND_BUSY:
		return codes.Unavailable
	case seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED:
		return codes.ResourceExhausted
	case seracv1.FailureKind_FAILURE_KIND_CANCELLED:
		return codes.Canceled
	case seracv1.FailureKind_FAILURE_KIND_DEADLINE:
		return codes.DeadlineExceeded
	case seracv1.FailureKind_FAILURE_KIND_STATEMENT:
		return codes.InvalidArgument
	default:
		return codes.Internal
	}
}

// Cut keeps as much of an error's text as may travel (MaxMessage), and makes it valid UTF-8, which a proto string must be.
func Cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	size := 0
	for i, r := range text {
		if r >= ' ' && r <= '~' && r != '%' {
			size++
		} else {
			size += 3 * utf8.RuneLen(r)
		}
		if size > MaxMessage-len(cutMark)*3 {
			return text[:i] + cutMark
		}
	}
	return text
}

const cutMark = " [...]"
