package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// ErrNoKeyService is what a table that needs a key service fails with (rule 7).
var ErrNoKeyService = errors.New("there is no key service")

// encryptionPrefix begins the properties of tables whose files are encrypted.
const encryptionPrefix = "encryption."

// CheckKeyService says whether a table can be read without a key service, which neither the scheduler nor executors have: a
// table with encryption keys in its metadata, or with properties of encryption, cannot.
func CheckKeyService(m table.Metadata) error {
	for range m.EncryptionKeys() {
		return fmt.Errorf("it is encrypted (its metadata holds encryption keys), and %w", ErrNoKeyService)
	}
	return CheckEncryption(m.Properties())
}

// CheckEncryption says whether a table's properties ask for encryption.
func CheckEncryption(properties map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if strings.HasPrefix(name, encryptionPrefix) && properties[name] != "" {
			return fmt.Errorf("it is encrypted (property %s), and %w", name, ErrNoKeyService)
		}
	}
	return nil
}
