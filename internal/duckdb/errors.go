package duckdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Kind is what kind of failure an Error is.
type Kind uint8

// The kinds of failures.
const (
	// Statement is the statement's own error: it cannot be parsed or bound, a cast failed, a division overflowed.
	Statement Kind = iota + 1
	// Interrupted means that the context of the call ended and DuckDB stopped.
	Interrupted
	// OutOfMemory means that memory_limit or the bound on temporary files was reached.
	OutOfMemory
	// IO means that a file could not be read or written.
	IO
	// Internal is a fault of DuckDB. After it the database may refuse all further statements: open a new one.
	Internal
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Statement:
		return "statement"
	case Interrupted:
		return "interrupted"
	case OutOfMemory:
		return "out of memory"
	case IO:
		return "io"
	case Internal:
		return "internal"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Error is a failure that DuckDB reported. Its text is DuckDB's message without stack traces.
type Error struct {
	Kind    Kind
	Message string
	// Cause is the context's error when Kind is Interrupted, else nil.
	Cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap makes errors.Is(err, context.Canceled) work on interrupted calls.
func (e *Error) Unwrap() error { return e.Cause }

// IsInternal says that DuckDB itself is at fault and the database should be opened anew.
func IsInternal(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Internal
}

func interrupted(cause error) *Error {
	return &Error{Kind: Interrupted, Message: "interrupted: " + cause.Error(), Cause: cause}
}

// newError makes an Error of a message as DuckDB writes it ("Binder Error: ...") and of its type, which is
// ErrorTypeInvalid when the API gives none.
func newError(ctx context.Context, t bindings.ErrorType, message string) *Error {
	kind := kindOf(t, message)
	if kind == Interrupted {
		if cause := context.Cause(ctx); cause != nil {
			return interrupted(cause)
		}
		return &Error{Kind: Interrupted, Message: "interrupted"}
	}
	return &Error{Kind: kind, Message: tidy(message)}
}

func kindOf(t bindings.ErrorType, message string) Kind {
	switch t {
	case bindings.ErrorTypeInterrupt:
		return Interrupted
	case bindings.ErrorTypeOutOfMemory:
		return OutOfMemory
	case bindings.ErrorTypeErrorIO:
		return ioKind(message)
	case bindings.ErrorTypeInternal, bindings.ErrorTypeFatal:
		return Internal
	}
	switch {
	case strings.HasPrefix(message, "INTERRUPT Error"):
		return Interrupted
	case strings.HasPrefix(message, "Out of Memory Error"):
		return OutOfMemory
	case strings.HasPrefix(message, "IO Error"):
		return ioKind(message)
	case strings.HasPrefix(message, "INTERNAL Error"), strings.HasPrefix(message, "FATAL Error"),
		strings.HasPrefix(message, "TransactionContext Error: Current transaction is aborted"):
		return Internal
	default:
		return Statement
	}
}

// ioKind tells a full disk from other I/O errors.
func ioKind(message string) Kind {
	if strings.Contains(message, "No space left on device") {
		return OutOfMemory
	}
	return IO
}

// tidy cuts stack traces and DuckDB's request to file a bug.
func tidy(message string) string {
	for _, mark := range []string{"\n\nStack Trace:", "\nStack Trace:", "\nThis error signals an assertion failure"} {
		if i := strings.Index(message, mark); i >= 0 {
			message = message[:i]
		}
	}
	return strings.TrimSpace(message)
}
