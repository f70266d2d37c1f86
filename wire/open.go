package wire

import (
	"context"
	"fmt"
	"net/url"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud" // registers s3, gs, abfs and kin
)

// DefaultOpenStorages is how many storages an Opener keeps unless told otherwise.
const DefaultOpenStorages = 64

// Opener opens storage. iceberg-go makes a new client, with new connections, each time a FileIO is opened; an Opener makes
// one for each (properties, bucket) and keeps it. It is safe for concurrent use.
type Opener struct {
	open   *lru.Cache[string, icebergio.IO]
	flight singleflight.Group
	load   func(ctx context.Context, properties map[string]string, location string) (icebergio.IO, error)
}

// NewOpener keeps up to size storages open (0: DefaultOpenStorages), dropping the least recently used.
func NewOpener(size int) *Opener {
	if size <= 0 {
		size = DefaultOpenStorages
	}
	open, err := lru.New[string, icebergio.IO](size)
	if err != nil { // only for sizes below one
		panic(err)
	}
	return &Opener{open: open, load: icebergio.LoadFS}
}

// Open is the storage that holds location. A configuration sees only storages that its own properties opened.
func (o *Opener) Open(ctx context.Context, f FileIO, location string) (icebergio.IO, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	bucket, err := bucketOf(location)
	if err != nil {
		return nil, err
	}
	sum := f.Fingerprint()
	key := string(sum[:]) + bucket
	if fs, ok := o.open.Get(key); ok {
		return fs, nil
	}
	fs, err, _ := o.flight.Do(key, func() (any, error) {
		// The client outlives the call that opened it, so it must not hang on that call's context.
		fs, err := o.load(context.WithoutCancel(ctx), f.Reveal(), location)
		if err != nil {
			return nil, err
		}
		o.open.Add(key, fs)
		return fs, nil
	})
	if err != nil {
		return nil, fmt.Errorf("open storage %s: %w", bucket, err)
	}
	return fs.(icebergio.IO), nil
}

// bucketOf is the scheme and authority of a location: "s3://bucket", "abfss://container@account", "file://", "" for a plain
// path. Passwords have no place there: storage libraries repeat locations in their errors.
func bucketOf(location string) (string, error) {
	u, err := url.Parse(location)
	if err != nil {
		// The parser's error repeats the location, which may carry userinfo.
		return "", fmt.Errorf("location is no URI")
	}
	if u.Scheme == "" {
		return "", nil
	}
	authority := u.Host
	if u.User != nil {
		authority = u.User.Username() + "@" + u.Host
	}
	if _, ok := u.User.Password(); ok {
		return "", fmt.Errorf("location in %s://%s holds a password", u.Scheme, authority)
	}
	return u.Scheme + "://" + authority, nil
}
