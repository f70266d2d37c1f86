package admission

import (
	"errors"
	"sync"
)

// ErrFull says that no more may wait.
var ErrFull = errors.New("the queue is full")

// Gate gives places. Those who wait are served first come, first served within a session, and sessions take turns, so
// that one session's flood delays another's statement by no more than one turn. It is safe for concurrent use.
type Gate struct {
	limit  func() int
	queued int

	mu      sync.Mutex
	taken   int
	waiting int
	lines   map[string]*line
	turns   []*line // those with somebody waiting, in the order of their turns
}

// line is a session's waiting places in order.
type line struct {
	session string
	places  []*Place
}

// New makes a gate. limit says how many places there are now, and is asked under the gate's lock; below 1 counts as 1.
// queued is how many may wait.
func New(limit func() int, queued int) *Gate {
	return &Gate{limit: limit, queued: queued, lines: map[string]*line{}}
}

// Place is a place, or the claim to one.
type Place struct {
	g        *Gate
	session  string
	admitted chan struct{} // closed when the place is had
	held     bool
	left     bool
}

// Ask gives a session a place, which it may have to wait for. The caller must Leave it, whether or not it was ever admitted.
// The error is ErrFull when too many wait already.
func (g *Gate) Ask(session string) (*Place, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serve() // there may be more places than before
	p := &Place{g: g, session: session, admitted: make(chan struct{})}
	if g.free() { // and nobody waits
		g.admit(p)
		return p, nil
	}
	if g.full() {
		return nil, ErrFull
	}
	l := g.lines[session]
	if l == nil {
		l = &line{session: session}
		g.lines[session] = l
		g.turns = append(g.turns, l)
	}
	l.places = append(l.places, p)
	g.waiting++
	return p, nil
}

// Serve admits those for whom there are places. Call it when there may be more of them than before.
func (g *Gate) Serve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serve()
}

// Full says whether Ask would give ErrFull now.
func (g *Gate) Full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serve()
	return g.full()
}

// Admitted is closed when the place is had.
func (p *Place) Admitted() <-chan struct{} { return p.admitted }

// Leave gives the place back, or the claim up. Only the first call counts.
func (p *Place) Leave() {
	g := p.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	if p.held {
		g.taken--
	} else {
		g.drop(p)
	}
	g.serve()
}

// Waiting is how many wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Taken is how many have a place.
func (g *Gate) Taken() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.taken
}

// free says whether there is a place. g is locked.
func (g *Gate) free() bool { return g.taken < max(g.limit(), 1) }

// full says whether there is neither a place nor room to wait for one. g is locked, and those whose turn it is are served.
func (g *Gate) full() bool { return !g.free() && g.waiting >= g.queued }

func (g *Gate) admit(p *Place) {
	p.held = true
	g.taken++
	close(p.admitted)
}

// serve admits those whose turn it is. g is locked.
func (g *Gate) serve() {
	for len(g.turns) > 0 && g.free() {
		l := g.turns[0]
		p := l.places[0]
		l.places[0] = nil
		l.places = l.places[1:]
		g.turns = append(g.turns[1:], l)
		if len(l.places) == 0 {
			g.turns = g.turns[:len(g.turns)-1]
			delete(g.lines, l.session)
		}
		g.waiting--
		g.admit(p)
	}
}

// drop takes a waiting place out of its line. g is locked.
func (g *Gate) drop(p *Place) {
	l := g.lines[p.session]
	for i, other := range l.places {
		if other == p {
			l.places = append(l.places[:i:i], l.places[i+1:]...)
			break
		}
	}
	g.waiting--
	if len(l.places) > 0 {
		return
	}
	delete(g.lines, l.session)
	for i, other := range g.turns {
		if other == l {
			g.turns = append(g.turns[:i:i], g.turns[i+1:]...)
			return
		}
	}
}
