package client

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// progressAfter is how long a statement runs before its progress shows.
const progressAfter = time.Second

// progressLine is one line of a terminal that is written over and over.
type progressLine struct {
	w     io.Writer
	start time.Time
	on    bool

	mu      sync.Mutex
	shown   bool
	stopped bool
}

// show writes the line anew.
func (l *progressLine) show(p *seracv1.StatementProgress) {
	took := time.Since(l.start)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on || l.stopped || took < progressAfter {
		return
	}
	text := progressText(p, took)
	if f, ok := l.w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 1 && len(text) >= columns {
			text = text[:columns-1]
		}
	}
	l.shown = true
	_, _ = fmt.Fprint(l.w, "\r\x1b[K", text)
}

// stop removes the line for good.
func (l *progressLine) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.shown {
		l.shown = false
		_, _ = fmt.Fprint(l.w, "\r\x1b[K")
	}
}

const barWidth = 20

// progressText is one line of plain ASCII.
func progressText(p *seracv1.StatementProgress, took time.Duration) string {
	if p.GetState() == "planning" || p.GetTasks() == 0 {
		return fmt.Sprintf("%s  %.1f s", p.GetState(), took.Seconds())
	}
	done := int(p.GetTasksDone()) * barWidth / int(p.GetTasks())
	parts := []string{
		"[" + strings.Repeat("=", done) + strings.Repeat(" ", barWidth-done) + "]",
		fmt.Sprintf("stages %d/%d", p.GetStagesDone(), p.GetStages()),
		fmt.Sprintf("tasks %d/%d (%d running)", p.GetTasksDone(), p.GetTasks(), p.GetTasksRunning()),
	}
	if p.GetRows() > 0 || p.GetBytes() > 0 {
		parts = append(parts, fmt.Sprintf("read %s rows, %sB", short(p.GetRows()), short(p.GetBytes())))
	}
	if p.GetShuffledRows() > 0 || p.GetShuffledBytes() > 0 {
		parts = append(parts, fmt.Sprintf("shuffled %s rows, %sB", short(p.GetShuffledRows()), short(p.GetShuffledBytes())))
	}
	if p.GetRetries() > 0 {
		parts = append(parts, fmt.Sprintf("retries %d", p.GetRetries()))
	}
	return strings.Join(append(parts, fmt.Sprintf("%.1f s", took.Seconds())), "  ")
}

// short is a number with three digits and a unit: 1.23M.
func short(n int64) string {
	units := []string{"", "k", "M", "G", "T", "P"}
	v, i := float64(n), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	switch {
	case i == 0:
		return fmt.Sprint(n)
	case v < 9.995:
		return fmt.Sprintf("%.2f%s", v, units[i])
	case v < 99.95:
		return fmt.Sprintf("%.1f%s", v, units[i])
	}
	return fmt.Sprintf("%.0f%s", v, units[i])
}
