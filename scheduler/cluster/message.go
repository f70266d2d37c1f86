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

// split cuts a launch's assignments into messages of at most about limit bytes. The lists of one leaf are cut anywhere;
// the receiver puts them together in order, so that positions in them stay what they were. The fragment goes with the
// first message.
func split(l *seracv1.TaskLaunch, limit int) (*seracv1.TaskLaunch, []*seracv1.TaskLaunchPart) {
	if proto.Size(l) <= limit {
		return l, nil
	}
	first := &seracv1.TaskLaunch{Id: l.GetId(), Fragment: l.GetFragment(), Settings: l.GetSettings()}
	s := splitter{limit: limit, room: limit - proto.Size(first)}
	for _, a := range l.GetAssignments() {
		s.add(a)
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

// need makes room for n bytes, in a new message if the present one is full, and says whether it is a new one.
func (s *splitter) need(n int) (fresh bool) {
	if n > s.room && (len(s.now) > 0 || len(s.messages) == 0) {
		s.close()
		fresh = true
	}
	s.room -= n
	return fresh
}

func (s *splitter) add(a *seracv1.LeafAssignment) {
	switch {
	case a.GetFiles() != nil:
		var group *seracv1.FileGroup
		open := func() {
			group = &seracv1.FileGroup{}
			s.now = append(s.now, &seracv1.LeafAssignment{Leaf: a.GetLeaf(), What: &seracv1.LeafAssignment_Files{Files: group}})
			s.room -= perElement
		}
		s.need(perElement)
		open()
		for _, f := range a.GetFiles().GetDeleteFiles() {
			if s.need(proto.Size(f) + perElement) {
				open()
			}
			group.DeleteFiles = append(group.DeleteFiles, f)
		}
		for _, f := range a.GetFiles().GetFiles() {
			if s.need(proto.Size(f) + perElement) {
				open()
			}
			group.Files = append(group.Files, f)
		}
	case a.GetShuffle() != nil:
		var input *seracv1.ShuffleInput
		open := func() {
			input = &seracv1.ShuffleInput{}
			s.now = append(s.now, &seracv1.LeafAssignment{Leaf: a.GetLeaf(), What: &seracv1.LeafAssignment_Shuffle{Shuffle: input}})
			s.room -= perElement
		}
		s.need(perElement)
		open()
		for _, f := range a.GetShuffle().GetFiles() {
			if s.need(proto.Size(f) + perElement) {
				open()
			}
			input.Files = append(input.Files, f)
		}
	default:
		s.need(proto.Size(a) + perElement)
		s.now = append(s.now, a)
	}
}
