package catalog

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"strings"
	"sync"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/wire"
)

// A REST catalog hands out storage properties with each table, vended credentials among them, and iceberg-go keeps them
// inside the table. They can be seen where they are used: in the factory of the location's scheme. captureStorage puts a
// factory in front of S3's that notes them, for calls that ask for it through their context, and builds nothing then.
var captureStorage = sync.OnceFunc(func() {
	for _, scheme := range []string{"s3", "s3a"} {
		icebergio.Unregister(scheme)
		icebergio.Register(scheme, func(ctx context.Context, parsed *url.URL, props map[string]string) (icebergio.IO, error) {
			if seen, ok := ctx.Value(captureKey{}).(*map[string]string); ok {
				*seen = maps.Clone(props)
				return nil, errCaptured
			}
			// s3n is the same factory under another name; its keys and buckets are read the same way.
			alias := *parsed
			alias.Scheme = "s3n"
			return icebergio.LoadFS(ctx, props, alias.String())
		})
	}
})

type captureKey struct{}

var errCaptured = errors.New("storage properties captured")

// tableStorage is the storage properties of a table just loaded: the catalog's configuration, and for a REST catalog what
// the server said about this table on top.
func (c *Catalog) tableStorage(ctx context.Context, t *table.Table) (wire.FileIO, error) {
	if c.kind != TypeREST || !strings.HasPrefix(t.MetadataLocation(), "s3://") && !strings.HasPrefix(t.MetadataLocation(), "s3a://") {
		return c.fileIO, nil
	}
	var seen map[string]string
	_, err := t.FS(context.WithValue(ctx, captureKey{}, &seen))
	if seen == nil {
		if err == nil {
			err = errors.New("the storage was opened before it could be seen")
		}
		return wire.FileIO{}, err
	}
	return wire.NewFileIO(seen), nil
}
