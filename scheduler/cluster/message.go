package cluster

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// maxMessage is the size, in bytes, that messages to executors are split at: far below gRPC's default limit of 4 MiB.
const maxMessage = 1 << 20

// maxFragment bounds what cannot be split: a fragment with its settings must fit into one message.
const maxFragment = 3 << 20

// sendSplit sends a message, a launch in as many parts as its size asks for.
func sendSplit(stream attachStream, m outgoing) error {
	if m.launch == nil {
		return stream.Send(m.message)
	}
	launch, parts := split(m.launch, maxMessage)
	if err := stream.Send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: launch}}); err != nil {
		return fmt.Errorf("send launch of %v: %w", keyOf(launch.GetId()).attempt, err)
	}
	for _, p := range parts {
		if err := stream.Send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_LaunchPart{LaunchPart: p}}); err != nil {
			return fmt.Errorf("send launch of %v: %w", keyOf(launch.GetId()).attempt, err)
		}
	}
	return nil
}

// split cuts a launch's assignments into messages of at most about limit bytes. The files of one leaf may be spread over
// several messages, in order; each message's file group is whole in itself: its files point into its own delete files.
// The fragment goes with the first message. Only a single file with more delete files than that makes a larger message.
func split(l *seracv1.TaskLaunch, limit int) (*seracv1.TaskLaunch, []*seracv1.TaskLaunchPart) {
	if proto.Size(l) <= limit {
		return l, nil
	}
	first := &seracv1.TaskLaunch{Id: l.GetId(), Fragment: l.GetFragment(), Settings: l.GetSettings()}
	s := splitter{limit: limit, room: limit - proto.Size(first)}
	for _, a := range l.GetAssignments() {
		switch {
		case a.GetFiles() != nil:
			s.addGroup(a.GetLeaf(), a.GetFiles())
		case a.GetShuffle() != nil:
			s.addShuffle(a.GetLeaf(), a.GetShuffle())
		default:
			s.fit(proto.Size(a) + perElement)
			s.put(a)
		}
	}
	s.close()
	first.Assignments = s.messages[0]
	parts := make([]*seracv1.TaskLaunchPart, len(s.messages)-1)
	for i, assignments := range s.messages[1:] {
		parts[i] = &seracv1.TaskLaunchPart{Id: l.GetId(), Assignments: assignments}
	}
	first.Parts = int32(len(parts))
	return first, parts
}

// splitter fills messages one after the other. The first may get nothing, when the fragment takes all the room.
type splitter struct {
	limit, room int
	messages    [][]*seracv1.LeafAssignment
	now         []*seracv1.LeafAssignment
}

// perElement is what an element of a list costs beyond its own bytes, and an assignment beyond its elements, at most.
const perElement = 16

func (s *splitter) close() {
	s.messages = append(s.messages, s.now)
	s.now, s.room = nil, s.limit
}

// fit begins a new message, and says so, if the present one has no room for n bytes.
func (s *splitter) fit(n int) bool {
	if n <= s.room || len(s.now) == 0 && len(s.messages) > 0 {
		return false
	}
	s.close()
	return true
}

func (s *splitter) put(a *seracv1.LeafAssignment) {
	s.now = append(s.now, a)
	s.room -= proto.Size(a) + perElement
}

func (s *splitter) addShuffle(leaf int32, all *seracv1.ShuffleInput) {
	var input *seracv1.ShuffleInput
	open := func() {
		input = &seracv1.ShuffleInput{}
		s.put(&seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Shuffle{Shuffle: input}})
	}
	s.fit(2 * perElement)
	open()
	for _, f := range all.GetFiles() {
		n := proto.Size(f) + perElement
		if s.fit(n) {
			open()
		}
		input.Files = append(input.Files, f)
		s.room -= n
	}
}

func (s *splitter) addGroup(leaf int32, all *seracv1.FileGroup) {
	var group *seracv1.FileGroup
	var at map[int32]int32 // position of a delete file in all, to its position in group
	open := func() {
		group, at = &seracv1.FileGroup{}, map[int32]int32{}
		s.put(&seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Files{Files: group}})
	}
	// cost is what a file adds to the group, with the delete files that are not in it yet.
	cost := func(f *seracv1.FileScanTask) int {
		n := proto.Size(f) + perElement
		for _, d := range f.GetDeletes() {
			if _, there := at[d]; !there {
				n += proto.Size(all.GetDeleteFiles()[d]) + perElement
			}
		}
		return n
	}
	s.fit(2 * perElement)
	open()
	for _, f := range all.GetFiles() {
		n := cost(f)
		if s.fit(n) {
			open()
			n = cost(f)
		}
		s.room -= n
		if len(f.GetDeletes()) > 0 {
			f = proto.Clone(f).(*seracv1.FileScanTask)
		}
		for i, d := range f.GetDeletes() {
			if _, there := at[d]; !there {
				at[d] = int32(len(group.GetDeleteFiles()))
				group.DeleteFiles = append(group.DeleteFiles, all.GetDeleteFiles()[d])
			}
			f.Deletes[i] = at[d]
		}
		group.Files = append(group.Files, f)
	}
}
