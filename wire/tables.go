package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// DefaultTables is how many tables' metadata Tables keeps unless told otherwise.
const DefaultTables = 256

// TablesOptions configure Tables.
type TablesOptions struct {
	// Size is how many tables' metadata are kept; 0 is DefaultTables.
	Size int
	// Opener opens the tables' storage; nil is an own one of the default size.
	Opener *Opener
}

// Tables rebuilds tables from what travelled. Metadata is kept by its location, which never changes its content, and is
// loaded once however many ask for it at a time; the storage configuration is bound to each table anew, so rotated or
// different credentials neither duplicate metadata nor reach into each other's tables. It is safe for concurrent use.
type Tables struct {
	opener *Opener
	cache  *lru.Cache[string, table.Metadata]
	flight singleflight.Group
}

// NewTables makes an empty cache.
func NewTables(o TablesOptions) *Tables {
	if o.Size <= 0 {
		o.Size = DefaultTables
	}
	if o.Opener == nil {
		o.Opener = NewOpener(0)
	}
	cache, err := lru.New[string, table.Metadata](o.Size)
	if err != nil { // only for sizes below one
		panic(err)
	}
	return &Tables{opener: o.Opener, cache: cache}
}

// Opener is what opens the tables' storage.
func (c *Tables) Opener() *Opener { return c.opener }

// Rebuild is the live table, without a catalog: it scans and writes, and refuses to refresh and to commit. Its identifier
// is without the catalog's name.
func (c *Tables) Rebuild(ctx context.Context, t *Table) (*table.Table, error) {
	metadata, err := c.metadata(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("rebuild table %s: %w", t.Key, err)
	}
	if metadata.Version() != t.FormatVersion {
		return nil, fmt.Errorf("rebuild table %s: metadata at %s has format version %d, the plan was made for %d", t.Key,
			t.MetadataLocation, metadata.Version(), t.FormatVersion)
	}
	if err := CheckKeyService(metadata); err != nil {
		return nil, fmt.Errorf("rebuild table %s: %w", t.Key, err)
	}
	open := func(ctx context.Context) (icebergio.IO, error) {
		io, err := c.opener.Open(ctx, t.FileIO, t.MetadataLocation)
		if err != nil || !t.ReadOnly {
			return io, err
		}
		return readOnlyIO{io}, nil
	}
	return table.New(t.Identifier[1:], metadata, t.MetadataLocation, open, detached{}), nil
}

// loadFailure is an error of the flight that the caller joined, with whose credentials it flew.
type loadFailure struct {
	credentials [sha256.Size]byte
	err         error
}

func (f *loadFailure) Error() string { return f.err.Error() }

func (c *Tables) metadata(ctx context.Context, t *Table) (table.Metadata, error) {
	credentials := t.FileIO.Fingerprint()
	for {
		if m, ok := c.cache.Get(t.MetadataLocation); ok {
			return m, nil
		}
		result := c.flight.DoChan(t.MetadataLocation, func() (any, error) {
			if m, ok := c.cache.Get(t.MetadataLocation); ok {
				return m, nil // another flight has landed since
			}
			m, err := c.load(context.WithoutCancel(ctx), t)
			if err != nil {
				return nil, &loadFailure{credentials: credentials, err: err}
			}
			c.cache.Add(t.MetadataLocation, m)
			return m, nil
		})
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case r := <-result:
			if r.Err == nil {
				return r.Val.(table.Metadata), nil
			}
			var failure *loadFailure
			if errors.As(r.Err, &failure) {
				if failure.credentials != credentials {
					continue // another's credentials failed; ours may not
				}
				return nil, failure.err
			}
			return nil, r.Err
		}
	}
}

// load parses the metadata that travelled, or reads it from its location.
func (c *Tables) load(ctx context.Context, t *Table) (table.Metadata, error) {
	if len(t.Metadata) > 0 {
		if err := checkInline(t.Metadata); err != nil {
			return nil, fmt.Errorf("parse inline metadata: %w", err)
		}
		m, err := parsed(func() (table.Metadata, error) { return table.ParseMetadataBytes(t.Metadata) })
		if err != nil {
			return nil, fmt.Errorf("parse inline metadata: %w", damaged(err))
		}
		return m, nil
	}
	open := func(ctx context.Context) (icebergio.IO, error) {
		return c.opener.Open(ctx, t.FileIO, t.MetadataLocation)
	}
	m, err := parsed(func() (table.Metadata, error) {
		loaded, err := table.NewFromLocation(ctx, t.Identifier[1:], t.MetadataLocation, open, detached{})
		if err != nil {
			return nil, err
		}
		return loaded.Metadata(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("read metadata at %s: %w", t.MetadataLocation, err)
	}
	return m, nil
}

// ErrDetached is what a rebuilt table answers to a refresh or a commit.
var ErrDetached = errors.New("a rebuilt table has no catalog: only the scheduler refreshes and commits")

// ErrReadOnly is what the storage of a table that is only read answers to a removal; it has no calls to write.
var ErrReadOnly = errors.New("the table is read-only here: the plan only reads it")

// readOnlyIO hides all that iceberg-go's storage can do but opening files.
type readOnlyIO struct{ io icebergio.IO }

func (r readOnlyIO) Open(name string) (icebergio.File, error) { return r.io.Open(name) }
func (r readOnlyIO) Remove(name string) error {
	return fmt.Errorf("remove %s: %w", name, ErrReadOnly)
}

// detached is the catalog of a rebuilt table. (With none at all, iceberg-go's Refresh and Commit panic.)
type detached struct{}

func (detached) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return nil, ErrDetached
}

func (detached) CommitTable(context.Context, table.Identifier, []table.Requirement, []table.Update) (table.Metadata, string, error) {
	return nil, "", ErrDetached
}
