package scan

import (
	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
)

// encodePartitionValue encodes a partition value as iceberg-go reads it from a manifest.
func encodePartitionValue(t ice.Type, value any) ([]byte, error) {
	value, err := iceberg.CanonicalValue(t, value)
	if err != nil {
		return nil, err
	}
	return iceberg.EncodeValue(t, value)
}
