package admission

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func ask(t *testing.T, g *Gate, session string) *Place {
	t.Helper()
	p, err := g.Ask(session)
	require.NoError(t, err)
	return p
}

func has(p *Place) bool {
	select {
	case <-p.Admitted():
		return true
	default:
		return false
	}
}

func fixed(n int) func() int { return func() int { return n } }

func TestSessionsTakeTurns(t *testing.T) {
	g := New(fixed(1), 100)
	running := ask(t, g, "flood")
	require.True(t, has(running))
	names := map[*Place]string{}
	var all []*Place
	for i := range 4 {
		p := ask(t, g, "flood")
		names[p], all = fmt.Sprintf("flood%d", i), append(all, p)
	}
	for i := range 2 {
		p := ask(t, g, "small")
		names[p], all = fmt.Sprintf("small%d", i), append(all, p)
	}
	p := ask(t, g, "other")
	names[p], all = "other0", append(all, p)
	require.Equal(t, 7, g.Waiting())
	var order []string
	for range 7 {
		running.Leave()
		running = nil
		for _, p := range all {
			if has(p) && !p.left {
				require.Nil(t, running, "one at a time")
				running = p
			}
		}
		order = append(order, names[running])
	}
	require.Equal(t, []string{"flood0", "small0", "other0", "flood1", "small1", "flood2", "flood3"}, order)
	running.Leave()
	require.Zero(t, g.Taken())
	require.Empty(t, g.lines)
	require.Empty(t, g.turns)
}

func TestWhoGivesUpIsPassedOver(t *testing.T) {
	g := New(fixed(1), 3)
	first := ask(t, g, "a")
	gone, next, last := ask(t, g, "a"), ask(t, g, "b"), ask(t, g, "a")
	_, err := g.Ask("c")
	require.ErrorIs(t, err, ErrFull)
	gone.Leave()
	gone.Leave()
	require.Equal(t, 2, g.Waiting())
	first.Leave()
	require.False(t, has(gone))
	require.True(t, has(last), "it has the session's turn")
	require.False(t, has(next))
	last.Leave()
	require.True(t, has(next))
	next.Leave()
	next.Leave()
	require.Zero(t, g.Taken())
	require.Empty(t, g.turns)
}

func TestLimitMayChange(t *testing.T) {
	limit := 0
	g := New(func() int { return limit }, 10)
	a := ask(t, g, "s") // nobody waits for ever when there are no executors: one runs, and says so
	require.True(t, has(a))
	b, c := ask(t, g, "s"), ask(t, g, "s")
	limit = 3
	d := ask(t, g, "s")
	require.True(t, has(b) && has(c))
	require.False(t, has(d))
	limit = 1
	a.Leave()
	b.Leave()
	require.False(t, has(d))
	c.Leave()
	require.True(t, has(d))
}

// However places are asked for and given back, no more than the limit are had, and nobody is forgotten.
func TestManyAtOnce(t *testing.T) {
	g := New(fixed(3), 10_000)
	var now, most atomic.Int64
	var wg sync.WaitGroup
	for s := range 20 {
		wg.Go(func() {
			for i := range 50 {
				p, err := g.Ask(fmt.Sprint(s % 7))
				if err != nil {
					t.Error(err)
					return
				}
				if i%5 == 4 {
					p.Leave() // perhaps while it waits
					continue
				}
				<-p.Admitted()
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				now.Add(-1)
				p.Leave()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	require.Zero(t, g.Taken())
	require.Zero(t, g.Waiting())
	require.Empty(t, g.lines)
}

// Places that have been added since are given away before anybody is told that the queue is full.
func TestMorePlacesThanBefore(t *testing.T) {
	limit := 1
	g := New(func() int { return limit }, 1)
	require.True(t, has(ask(t, g, "a")))
	waits := ask(t, g, "b")
	_, err := g.Ask("c")
	require.ErrorIs(t, err, ErrFull)
	require.True(t, g.Full())
	limit = 3
	require.True(t, has(ask(t, g, "c")))
	require.True(t, has(waits))
	waits = ask(t, g, "d")
	require.False(t, has(waits))
	limit = 4
	g.Serve()
	require.True(t, has(waits))
	waits = ask(t, g, "e")
	require.True(t, g.Full())
	limit = 6
	require.False(t, g.Full())
	require.True(t, has(waits))
}
