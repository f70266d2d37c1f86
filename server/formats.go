package server

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/scheduler"
	"github.com/seracdb/serac/wire"
)

// openFormats opens the configured catalogs of other table formats; all or none.
func openFormats(ctx context.Context, formats *format.Set, catalogs map[string]config.FormatCatalog) ([]scheduler.FormatCatalog, error) {
	var out []scheduler.FormatCatalog
	for _, name := range slices.Sorted(maps.Keys(catalogs)) {
		c := format.Config{Name: name, Properties: map[string]wire.Secret{}}
		for key, value := range catalogs[name].Properties {
			c.Properties[key] = wire.NewSecret(value.Reveal())
		}
		opened, err := formats.Open(ctx, catalogs[name].Type, c)
		if err != nil {
			for _, o := range out {
				err = errors.Join(err, o.Close())
			}
			return nil, err
		}
		out = append(out, scheduler.FormatCatalog{Name: name, Type: catalogs[name].Type, Catalog: opened})
	}
	return out, nil
}
