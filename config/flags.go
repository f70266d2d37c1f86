package config

import (
	"slices"

	"github.com/spf13/pflag"
)

// Flags registers a flag --section.name for every key of the given sections and returns a function that gives the values
// of those that were used, for Source.Set.
func Flags(fs *pflag.FlagSet, names ...string) func() map[string]string {
	set := map[string]string{}
	for _, s := range sections() {
		if !slices.Contains(names, s.Name) {
			continue
		}
		for _, k := range s.Keys {
			fs.Var(&flagValue{key: k, set: set}, k.Path(), k.Doc)
			if k.Type == "true or false" {
				fs.Lookup(k.Path()).NoOptDefVal = "true"
			}
		}
	}
	return func() map[string]string { return set }
}

// flagValue collects a flag as text: Load checks it together with everything else.
type flagValue struct {
	key  Key
	text string
	set  map[string]string
}

func (f *flagValue) String() string {
	if f.key.Name == "" || f.text == "" {
		return f.key.Default
	}
	if f.key.Type == "secret" {
		return "<redacted>"
	}
	return f.text
}

func (f *flagValue) Set(text string) error {
	f.text = text
	f.set[f.key.Path()] = text
	return nil
}

func (f *flagValue) Type() string {
	if f.key.Type == "true or false" {
		return "bool"
	}
	return f.key.Type
}
