package manifest

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
)

// DefaultSize is the size in bytes of a cache that nobody has given another: about 200,000 data files of 16 columns.
const DefaultSize = 256 << 20

// Key names what is cached. Content is immutable, so a path and a length tell it apart; the scope keeps what was read with
// one storage configuration from whoever has another (rule 5).
type Key struct {
	// Scope is the fingerprint of the storage configuration that reads it.
	Scope [sha256.Size]byte
	Path  string
	// Length is the file's size in bytes as the manifest list or the caller knows it.
	Length int64
	// Of tells apart what is made of one file: by the snapshot, schema or specification that it was made for.
	Of string
}

// Cache holds values by key, the least recently used ones dropped first. It is safe for concurrent use. A nil cache keeps
// nothing.
type Cache struct {
	mu      sync.Mutex
	limit   int64
	size    int64
	entries map[Key]*entry
	used    *list.List // of *entry, the latest in front
}

type entry struct {
	key   Key
	ready chan struct{} // closed when value, size and err are final
	value any
	size  int64
	err   error
	place *list.Element // nil while being made
}

// NewCache makes a cache of so many bytes.
func NewCache(limit int64) *Cache {
	return &Cache{limit: limit, entries: map[Key]*entry{}, used: list.New()}
}

// Size is the bytes held.
func (c *Cache) Size() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Limit is the most bytes it will hold.
func (c *Cache) Limit() int64 {
	if c == nil {
		return 0
	}
	return c.limit
}

// get gives the value of a key, made by load when it is not there. Callers of the same key at the same time share one load;
// one that fails is not kept. A value that is larger than the whole cache is given and not kept.
func get[T any](ctx context.Context, c *Cache, key Key, load func(context.Context) (T, int64, error)) (T, error) {
	if c == nil {
		value, _, err := load(ctx)
		return value, err
	}
	for {
		e, first := c.entry(key)
		if first {
			return lead(ctx, c, e, load)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
		if e.err == nil {
			return e.value.(T), nil
		}
		// The end of another statement is no failure of this one's.
		if !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) || ctx.Err() != nil {
			var none T
			return none, e.err
		}
	}
}

// lead makes the value that others may be waiting for, who must hear of it also when load panics.
func lead[T any](ctx context.Context, c *Cache, e *entry, load func(context.Context) (T, int64, error)) (value T, err error) {
	var size int64
	err = errors.New("reading it was cut off")
	defer func() { c.made(e, value, size, err) }()
	value, size, err = load(ctx)
	return value, err
}

// entry is the entry of a key; first says that the caller is to make its value.
func (c *Cache) entry(key Key) (e *entry, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		if e.place != nil {
			c.used.MoveToFront(e.place)
		}
		return e, false
	}
	e = &entry{key: key, ready: make(chan struct{})}
	c.entries[key] = e
	return e, true
}

func (c *Cache) made(e *entry, value any, size int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.value, e.size, e.err = value, size, err
	close(e.ready)
	if err != nil || size > c.limit {
		delete(c.entries, e.key)
		return
	}
	e.place = c.used.PushFront(e)
	c.size += size
	for c.size > c.limit {
		last := c.used.Remove(c.used.Back()).(*entry)
		delete(c.entries, last.key)
		c.size -= last.size
	}
}
