package client

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/chzyer/readline"
	"github.com/stretchr/testify/require"
)

// typist types lines.
type typist struct {
	lines   []string
	prompts []string
	history []string
	prompt  string
}

func (t *typist) Readline() (string, error) {
	t.prompts = append(t.prompts, t.prompt)
	if len(t.lines) == 0 {
		return "", io.EOF
	}
	line := t.lines[0]
	t.lines = t.lines[1:]
	if line == "^C" {
		return "", readline.ErrInterrupt
	}
	return line, nil
}

func (t *typist) SetPrompt(p string) { t.prompt = p }

func (t *typist) SaveHistory(line string) error {
	t.history = append(t.history, line)
	return nil
}

func TestShell(t *testing.T) {
	// Nothing is connected: statements fail, and the shell goes on.
	conn, err := dialForTest()
	require.NoError(t, err)
	var out, errs strings.Builder
	s := &Session{Conn: conn, Out: &out, Err: &errs, Format: Table}
	lines := &typist{lines: []string{
		"", "select 1,", "  ';", "' ;", "select 2", "^C", `\format json`, `\format xml`, `\dance`, "select 3; -- three", `\help`, "quit", "select 4;",
	}}
	require.NoError(t, s.shell(context.Background(), lines))
	require.Equal(t, []string{prompt, prompt, promptMore, promptMore, prompt, promptMore, prompt, prompt, prompt, prompt, prompt, prompt}, lines.prompts)
	require.Equal(t, []string{"select 1,   '; ' ;", `\format json`, `\format xml`, `\dance`, "select 3; -- three", `\help`}, lines.history)
	require.Equal(t, JSON, s.Format)
	require.Equal(t, 2, strings.Count(errs.String(), "error: the server cannot be reached"), errs.String())
	require.Contains(t, errs.String(), `"xml" is no format`)
	require.Contains(t, errs.String(), `no such command: \dance`)
	require.Contains(t, errs.String(), "Ctrl-C cancels it")
	require.Equal(t, []string{"select 4;"}, lines.lines, "quit ends it")
	require.Empty(t, out.String())

	lines = &typist{}
	require.NoError(t, s.shell(context.Background(), lines), "so does the end of input")
}

func TestHistoryLine(t *testing.T) {
	require.Equal(t, "select 1;", oneLine("select 1;\n"))
	require.Equal(t, "select 1, 2;", oneLine("select 1,\n2;\n"))
	require.Equal(t, "2;", oneLine("select 1, -- one\n2;\n"))
}
