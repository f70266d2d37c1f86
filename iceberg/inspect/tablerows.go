package inspect

import (
	"maps"
	"slices"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/wire"
)

// snapshots are made here and not by iceberg-go, whose summaries repeat the operation and come in random order.
func snapshots(t *table.Table, emit func(...any) error) error {
	for _, s := range t.Metadata().Snapshots() {
		var list, operation, summary any
		if s.ManifestList != "" {
			list = s.ManifestList
		}
		if s.Summary != nil {
			operation, summary = string(s.Summary.Operation), texts(s.Summary.Properties, func(string) bool { return false })
		}
		err := emit(ice.Timestamp(s.TimestampMs*1000), s.SnapshotID, optional(s.ParentSnapshotID), operation, list, summary)
		if err != nil {
			return err
		}
	}
	return nil
}

// texts are the properties sorted by key.
func texts(properties map[string]string, hidden func(key string) bool) mapCell {
	out := make(mapCell, 0, len(properties))
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		value := properties[key]
		if hidden(key) {
			value = "<redacted>"
		}
		out = append(out, [2]any{key, value})
	}
	return out
}

func propertiesSchema() *ice.Schema {
	return ice.NewSchema(0,
		ice.NestedField{ID: 1, Name: "key", Type: ice.PrimitiveTypes.String, Required: true},
		ice.NestedField{ID: 2, Name: "value", Type: ice.PrimitiveTypes.String, Required: true},
	)
}

// properties come without the values that may be secrets.
func properties(t *table.Table, emit func(...any) error) error {
	for _, pair := range texts(t.Properties(), mayBeSecret) {
		if err := emit(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// mayBeSecret says that a property's value must not show: it configures storage, or its key speaks of a credential.
func mayBeSecret(key string) bool {
	if wire.NewFileIO(map[string]string{key: ""}).Len() > 0 {
		return true
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"secret", "token", "credential", "password", "header."}, func(word string) bool {
		return strings.Contains(key, word)
	})
}
