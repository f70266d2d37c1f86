package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/sql"
)

// Session runs statements over a connection and prints what comes of them.
type Session struct {
	Conn *Conn
	// Out gets results, Err the progress of long statements.
	Out, Err io.Writer
	Format   Format
	// Color is for an Out that is a terminal.
	Color bool
	// Progress shows a line about a statement that takes longer than a second; it is for an Err that is a terminal.
	Progress bool
	// Interrupts are the signals that cancel the running statement. Nil: Ctrl-C.
	Interrupts <-chan os.Signal
}

// ScriptError is the error of a statement in a script.
type ScriptError struct {
	Line int // where the statement begins, from 1
	Err  error
}

// Error is the statement's error after its line.
func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is the statement's own error.
func (e *ScriptError) Unwrap() error { return e.Err }

// RunScript runs the statements of a text, which semicolons separate, one after the other. It stops at the first that
// fails, with a *ScriptError.
func (s *Session) RunScript(ctx context.Context, text string) error {
	statements, err := sql.Split(text)
	if err != nil {
		return err
	}
	at := 0
	for _, statement := range statements {
		if i := strings.Index(text[at:], statement); i >= 0 {
			at += i
		}
		if err := s.Run(ctx, statement); err != nil {
			return &ScriptError{Line: 1 + strings.Count(text[:at], "\n"), Err: err}
		}
		at += len(statement)
	}
	return nil
}

// Run runs one statement and prints its result. An interrupt cancels it on the server; the error then says so.
func (s *Session) Run(ctx context.Context, statement string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.cancelOnInterrupt(cancel)()

	start := time.Now()
	line := &progressLine{w: s.Err, start: start, on: s.Progress}
	defer line.stop()
	var report func(*seracv1.StatementProgress)
	if s.Progress {
		report = line.show
	}
	result, err := s.Conn.Execute(ctx, statement, report)
	if err != nil {
		return s.explain(ctx, err)
	}
	defer result.Close()
	line.stop()
	if !result.IsQuery() {
		n, ok, err := result.Changed()
		if err != nil {
			return s.explain(ctx, err)
		}
		return s.printChanged(statement, n, ok, time.Since(start))
	}
	rows, err := s.print(result)
	if err != nil {
		return s.explain(ctx, err)
	}
	if s.Format == Table {
		_, err = fmt.Fprintf(s.Out, "(%s, %s)\n", counted(rows, "row"), seconds(time.Since(start)))
	}
	return err
}

// explain puts the cancellation in the place of the many errors that follow from it.
func (s *Session) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errCancelled
	}
	return err
}

// cancelOnInterrupt cancels at an interrupt, until the returned function is called.
func (s *Session) cancelOnInterrupt(cancel func()) (stop func()) {
	interrupts, done := s.Interrupts, make(chan struct{})
	var own chan os.Signal
	if interrupts == nil {
		own = make(chan os.Signal, 1)
		signal.Notify(own, os.Interrupt)
		interrupts = own
	}
	go func() {
		select {
		case <-interrupts:
			cancel()
		case <-done:
		}
	}()
	return func() {
		close(done)
		if own != nil {
			signal.Stop(own)
		}
	}
}

// print prints a query's rows as they come and returns their number.
func (s *Session) print(result *Result) (int64, error) {
	schema, err := result.Schema()
	if err != nil {
		return 0, err
	}
	p := newPrinter(s.Format, s.Out, schema, tableStyle{color: s.Color})
	var rows int64
	for {
		batch, err := result.Next()
		if errors.Is(err, io.EOF) {
			return rows, p.end()
		}
		if err != nil {
			// What has been printed stays, so that the error stands below it.
			return rows, errors.Join(err, p.end())
		}
		rows += batch.NumRows()
		err = p.batch(batch)
		batch.Release()
		if err != nil {
			return rows, fmt.Errorf("write result: %w", err)
		}
	}
}

// printChanged says how an update ended. The formats for programs are silent about it.
func (s *Session) printChanged(statement string, n int64, known bool, took time.Duration) error {
	if s.Format != Table {
		return nil
	}
	what := "OK"
	if known && (n > 0 || changesRows(statement)) {
		what = counted(n, "row") + " changed"
	}
	_, err := fmt.Fprintf(s.Out, "%s (%s)\n", what, seconds(took))
	return err
}

// changesRows says whether a count of 0 is worth telling.
func changesRows(statement string) bool {
	words := strings.Fields(statement)
	if len(words) == 0 {
		return false
	}
	switch strings.ToUpper(words[0]) {
	case "INSERT", "UPDATE", "DELETE", "MERGE":
		return true
	}
	return false
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
