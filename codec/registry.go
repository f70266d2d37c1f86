package codec

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"google.golang.org/protobuf/proto"
)

// Extension is the codec of one extension node: of another table format, or of an engine builder. It is found by the full
// name of its message, never by position or order.
type Extension interface {
	// Message is an empty message of the node's kind.
	Message() proto.Message
	// Version is the version that Encode writes and the newest that Decode reads, 1 or more.
	Version() int32
	// Encode is the node as a message of Message's kind.
	Encode(n plan.ExtensionImpl) (proto.Message, error)
	// Decode is the node that a message of the given version, not newer than Version, describes. inputs are the columns of
	// the node's inputs. The bytes came from elsewhere: what they say must be checked, and a panic ends the process.
	Decode(m proto.Message, version int32, inputs []plan.Schema) (plan.ExtensionImpl, error)
}

// Registry holds the codecs of extension nodes. It is safe for concurrent use; codecs are registered at start.
type Registry struct {
	mu         sync.RWMutex
	extensions map[string]Extension
}

// NewRegistry is a registry without extensions.
func NewRegistry() *Registry { return &Registry{extensions: map[string]Extension{}} }

// Default is the registry behind EncodeFragment and DecodeFragment.
var Default = NewRegistry()

// Register adds a codec. A second one for the same message, or one for a message of Serac's own, is an error.
func (r *Registry) Register(x Extension) error {
	name := string(x.Message().ProtoReflect().Descriptor().FullName())
	if strings.HasPrefix(name, ownPackage) {
		return fmt.Errorf("register codec of %s: the name is Serac's own", name)
	}
	if x.Version() < 1 {
		return fmt.Errorf("register codec of %s: version %d is less than 1", name, x.Version())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, twice := r.extensions[name]; twice {
		return fmt.Errorf("register codec of %s: there is one already", name)
	}
	r.extensions[name] = x
	return nil
}

func (r *Registry) lookup(name string) (Extension, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	x, ok := r.extensions[name]
	return x, ok
}

// Names are the messages that can be decoded, Serac's own among them, as "full.Name@version", sorted. Executors send them
// when they register.
func (r *Registry) Names() []string {
	names := ownMessages()
	r.mu.RLock()
	defer r.mu.RUnlock()
	for name, x := range r.extensions {
		names = append(names, fmt.Sprintf("%s@%d", name, x.Version()))
	}
	slices.Sort(names)
	return names
}

// Compare is nil when names are what Names returns, and otherwise an error that lists the difference.
func (r *Registry) Compare(names []string) error {
	var missing, unknown []string
	own := r.Names()
	for _, n := range own {
		if !slices.Contains(names, n) {
			missing = append(missing, n)
		}
	}
	for _, n := range names {
		if !slices.Contains(own, n) {
			unknown = append(unknown, n)
		}
	}
	if len(missing) == 0 && len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("extensions differ: missing there [%s], unknown here [%s]", strings.Join(missing, ", "), strings.Join(unknown, ", "))
}

const ownPackage = "serac.v1."

// ownMessages are the messages of plan.proto, each at its version, and the fragment that they stand in.
func ownMessages() []string {
	names := []string{fmt.Sprintf("%sFragment@%d", ownPackage, fragmentVersion)}
	messages := seracv1.File_serac_v1_plan_proto.Messages()
	for i := range messages.Len() {
		name := string(messages.Get(i).FullName())
		names = append(names, fmt.Sprintf("%s@%d", name, currentVersion(name)))
	}
	return names
}
