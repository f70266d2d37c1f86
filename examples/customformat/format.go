package customformat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/examples/customformat/scanpb"
	"github.com/seracdb/serac/format"
)

// Format is the table format. Give it to cli.Main, or to server.Options.
type Format struct{}

var _ format.Format = Format{}

// Name is what a configuration says: type = "csv".
func (Format) Name() string { return "csv" }

// Codec is the codec of Scan.
func (Format) Codec() codec.Extension { return Codec{} }

// Split is what says which file to read.
func (Format) Split() proto.Message { return &scanpb.CSVFile{} }

// Open opens a folder of manifests. Its one property is path.
func (Format) Open(_ context.Context, c format.Config) (format.Catalog, error) {
	for _, key := range slices.Sorted(maps.Keys(c.Properties)) {
		if key != "path" {
			return nil, fmt.Errorf("unknown key %s: there is path", key)
		}
	}
	path := c.Properties["path"].Reveal()
	if path == "" {
		return nil, errors.New("path must be set: the folder of the schemas")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &catalog{root: root, path: path}, nil
}
