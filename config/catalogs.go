package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// FormatCatalog is a [catalogs.NAME]: a catalog of a table format other than Iceberg, which the process must have built in.
type FormatCatalog struct {
	// Type is the format's name.
	Type string
	// Properties are the other keys. What they mean is the format's affair, so none of them is printed.
	Properties map[string]Secret
}

// readCatalogs reads the tables below [catalogs].
func (c *Config) readCatalogs(path string, catalogs map[string]any) (faults []error) {
	for _, name := range slices.Sorted(maps.Keys(catalogs)) {
		section := "catalogs." + name
		keys, ok := catalogs[name].(map[string]any)
		if !ok {
			faults = append(faults, fmt.Errorf("%s: %s: a catalog is a section, [catalogs.NAME]", path, section))
			continue
		}
		c.setCatalogKey(name, "", "") // it is there, whatever its keys are
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			text, ok := keys[key].(string)
			if !ok {
				faults = append(faults, fmt.Errorf("%s: %s.%s: expected a string", path, section, key))
			}
			c.setCatalogKey(name, key, text)
		}
	}
	return faults
}

// catalogsEnv is the section in the names of environment variables, which go on with the catalog's name and the key.
const catalogsEnv = "CATALOGS"

// setCatalog sets a key from the environment: NAME__KEY.
func (c *Config) setCatalog(rest, value string) error {
	name, key, found := strings.Cut(strings.ToLower(rest), "__")
	if !found || name == "" || key == "" {
		return errors.New("expected " + envPrefix + catalogsEnv + "__<NAME>__<KEY>")
	}
	c.setCatalogKey(name, key, value)
	return nil
}

func (c *Config) setCatalogKey(name, key, value string) {
	if c.Catalogs == nil {
		c.Catalogs = map[string]FormatCatalog{}
	}
	catalog := c.Catalogs[name]
	if catalog.Properties == nil {
		catalog.Properties = map[string]Secret{}
	}
	switch key {
	case "":
	case "type":
		catalog.Type = value
	default:
		catalog.Properties[key] = NewSecret(value)
	}
	c.Catalogs[name] = catalog
}

var catalogName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validateCatalogs reports what is wrong with the catalogs of other formats.
func (c *Config) validateCatalogs(fault func(path, format string, args ...any)) {
	names := []string{c.Catalog.Name}
	for _, name := range slices.Sorted(maps.Keys(c.Catalogs)) {
		path := "catalogs." + name
		if !catalogName.MatchString(name) {
			fault(path, "the name of a catalog has letters, digits and underscores only")
		}
		if slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) }) {
			fault(path, "another catalog has that name")
		}
		names = append(names, name)
		if c.Catalogs[name].Type == "" {
			fault(path+".type", "must be set")
		}
	}
}
