package bind

import (
	"errors"
	"strings"

	"github.com/seracdb/serac/internal/duckdb"
)

// isStatementFault says that DuckDB refused the statement, rather than failed.
func isStatementFault(err error) bool {
	var e *duckdb.Error
	return errors.As(err, &e) && (e.Kind == duckdb.Statement || e.Kind == duckdb.IO)
}

// statementError makes what DuckDB says about a statement an Error for the user; other errors stay.
func statementError(err error) error {
	var s *serializeError
	switch {
	case errors.As(err, &s):
		message := s.message
		if strings.Contains(message, "Only SELECT statements can be serialized") {
			return &Error{Message: "the statement is not a single SELECT (a PIVOT needs its values in IN (...))"}
		}
		if kind := errorKinds[s.kind]; kind != "" && !strings.Contains(message, " Error: ") {
			message = kind + ": " + message
		}
		return &Error{Message: message}
	case isStatementFault(err):
		return &Error{Message: err.Error()}
	}
	return err
}

// errorKinds are the names of DuckDB's error types in its messages.
var errorKinds = map[string]string{"parser": "Parser Error", "syntax": "Syntax Error", "binder": "Binder Error",
	"catalog": "Catalog Error", "not implemented": "Not implemented Error"}
