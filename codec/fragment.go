package codec

import (
	"errors"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// Fragment is a stage's plan with the tables behind it.
type Fragment struct {
	Root plan.Node
	// Tables by the key that scans and writes name them by.
	Tables map[string]*wire.Table
}

// EncodeFragment is Codec.EncodeFragment with the extensions of Default.
func EncodeFragment(root plan.Node, tables []*wire.Table) ([]byte, error) {
	return nil, errors.New("codec: encode is not built yet")
}

// DecodeFragment is Codec.DecodeFragment with the extensions of Default.
func DecodeFragment(b []byte) (*Fragment, error) {
	return nil, errors.New("codec: decode is not built yet")
}
