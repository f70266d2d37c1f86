package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/chzyer/readline"

	"github.com/seracdb/serac/scheduler/sql"
)

const (
	prompt     = "serac> "
	promptMore = "    -> "
)

const shellHelp = `End a statement with a semicolon; it may go over several lines. Ctrl-C cancels it, or drops the lines typed so far.

  \format NAME   print results as table, csv, tsv or json
  \help          this text
  \quit          leave (so does Ctrl-D)
`

// lineReader is where the shell's lines come from: a terminal, or a test.
type lineReader interface {
	// Readline returns a line, io.EOF at the end, or readline.ErrInterrupt at Ctrl-C.
	Readline() (string, error)
	SetPrompt(string)
	SaveHistory(string) error
}

// RunShell reads statements from the terminal and runs them until the user leaves. A statement that fails does not end it.
func (s *Session) RunShell(ctx context.Context) error {
	lines, err := readline.NewEx(&readline.Config{
		Prompt: prompt, HistoryFile: historyFile(), HistoryLimit: 5000, DisableAutoSaveHistory: true, HistorySearchFold: true,
		InterruptPrompt: "^C", EOFPrompt: `\quit`,
	})
	if err != nil {
		return fmt.Errorf("open terminal: %w", err)
	}
	defer func() { _ = lines.Close() }()
	return s.shell(ctx, lines)
}

// historyFile is where the shell's history is kept; empty where the system has no place for it.
func historyFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "serac")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	path := filepath.Join(dir, "history")
	// Statements can hold anything: nobody else is to read them.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return ""
	}
	_ = f.Close()
	return path
}

func (s *Session) shell(ctx context.Context, lines lineReader) error {
	var typed string
	for ctx.Err() == nil {
		if typed == "" {
			lines.SetPrompt(prompt)
		} else {
			lines.SetPrompt(promptMore)
		}
		line, err := lines.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			typed = ""
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read terminal: %w", err)
		}
		if typed == "" {
			if strings.TrimSpace(line) == "" {
				continue
			}
			if quit, done := s.command(line); quit {
				return nil
			} else if done {
				_ = lines.SaveHistory(line)
				continue
			}
		}
		typed += line + "\n"
		if !sql.Terminated(typed) {
			continue
		}
		_ = lines.SaveHistory(oneLine(typed))
		s.runTyped(ctx, typed)
		typed = ""
	}
	return ctx.Err()
}

// runTyped runs what was typed and shows what went wrong.
func (s *Session) runTyped(ctx context.Context, text string) {
	err := s.RunScript(ctx, text)
	var script *ScriptError
	if errors.As(err, &script) {
		err = script.Err
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Err, "error:", err)
	}
}

// command does the shell's own commands. done is false for what is not one of them.
func (s *Session) command(line string) (quit, done bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(strings.TrimSuffix(word, ";")) {
	case "exit", "quit":
		if rest == "" {
			return true, true
		}
	case `\q`, `\quit`:
		return true, true
	case `\h`, `\help`, `\?`, "help":
		_, _ = fmt.Fprint(s.Err, shellHelp)
		return false, true
	case `\f`, `\format`:
		if f, err := ParseFormat(strings.TrimSpace(rest)); err != nil {
			_, _ = fmt.Fprintln(s.Err, "error:", err)
		} else {
			s.Format = f
		}
		return false, true
	default:
		if strings.HasPrefix(word, `\`) {
			_, _ = fmt.Fprintf(s.Err, "error: no such command: %s (\\help lists them)\n", word)
			return false, true
		}
	}
	return false, false
}

// oneLine joins lines for the history, which has one entry a line. A line comment would swallow what comes after it, so a
// text with one becomes its last line only.
func oneLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	joined := strings.Join(lines, " ")
	if len(lines) > 1 && strings.Contains(joined, "--") {
		return lines[len(lines)-1]
	}
	return joined
}
