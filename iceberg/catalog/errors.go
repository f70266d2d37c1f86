package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	icecatalog "github.com/apache/iceberg-go/catalog"
)

// The errors that callers tell apart with errors.Is. Each comes wrapped in text that names the thing.
var (
	ErrNoTable           = errors.New("table does not exist")
	ErrNoNamespace       = errors.New("schema does not exist")
	ErrTableExists       = errors.New("table already exists")
	ErrNamespaceExists   = errors.New("schema already exists")
	ErrNamespaceNotEmpty = errors.New("schema is not empty")
	ErrBadName           = errors.New("invalid name")
)

// mapped are the catalog's own errors and ours.
var mapped = []struct{ theirs, ours error }{
	{icecatalog.ErrNoSuchTable, ErrNoTable},
	{icecatalog.ErrNoSuchNamespace, ErrNoNamespace},
	{icecatalog.ErrTableAlreadyExists, ErrTableExists},
	{icecatalog.ErrNamespaceAlreadyExists, ErrNamespaceExists},
	{icecatalog.ErrNamespaceNotEmpty, ErrNamespaceNotEmpty},
	{icecatalog.ErrInvalidIdentifier, ErrBadName},
}

// namedError is one of the errors above about one thing.
type namedError struct {
	kind, cause error
	name        string
}

func (e *namedError) Error() string {
	noun, rest, _ := strings.Cut(e.kind.Error(), " ")
	return fmt.Sprintf("%s %s %s", noun, e.name, rest)
}

func (e *namedError) Unwrap() []error { return []error{e.kind, e.cause} }

// translate turns a catalog's error about the thing called name into ours; doing says what was being done.
func translate(err error, doing, name string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s: %w", doing, name, err)
	}
	for _, m := range mapped {
		if errors.Is(err, m.theirs) {
			return &namedError{kind: m.ours, cause: err, name: name}
		}
	}
	return fmt.Errorf("%s %s: %w", doing, name, err)
}
