package cluster

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// maxMessage is the size, in bytes, that launches are split at, so that no message, with what wraps it, is above 1 MiB: far
// below gRPC's default limit of 4 MiB.
const maxMessage = 1<<20 - 4<<10

// maxFragment bounds what cannot be split: a fragment with its settings must fit into one message.
const maxFragment = 3 << 20

// sendSplit sends a message, a launch in as many parts as its size asks for.
func sendSplit(stream attachStream, m outgoing) error {
	if m.launch == nil {
		return stream.Send(m.message)
	}
	err := split(m.launch, maxMessage, stream.Send)
	if err != nil {
		return fmt.Errorf("send launch of %v: %w", keyOf(m.launch.GetId()).attempt, err)
	}
	return nil
}

// split sends a launch in messages of at most about limit bytes; each is made when its turn has come. The files of one leaf
// may be spread over several messages, in order; each message's file group is whole in itself: its files point into its own
// delete files and residuals. The fragment goes with the first message. Only a single file with more delete files than that
// makes a larger message.
func split(l *seracv1.TaskLaunch, limit int, send func(*seracv1.AttachResponse) error) error {
	if proto.Size(l) <= limit {
		return send(launchMessage(l))
	}
	first := &seracv1.TaskLaunch{Id: l.GetId(), Fragment: l.GetFragment(), Settings: l.GetSettings()}
	// The first message says how many follow, so they are counted before any is sent.
	count := 0
	each := func(take func(assignments []*seracv1.LeafAssignment) error) error {
		s := splitter{limit: limit, room: limit - proto.Size(first), take: take}
		s.all(l.GetAssignments())
		return s.err
	}
	if err := each(func([]*seracv1.LeafAssignment) error { count++; return nil }); err != nil {
		return err
	}
	parts := int32(count - 1)
	sent := 0
	return each(func(assignments []*seracv1.LeafAssignment) error {
		sent++
		if sent == 1 {
			first.Assignments, first.Parts = assignments, parts
			return send(launchMessage(first))
		}
		return send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_LaunchPart{
			LaunchPart: &seracv1.TaskLaunchPart{Id: l.GetId(), Assignments: assignments},
		}})
	})
}

func launchMessage(l *seracv1.TaskLaunch) *seracv1.AttachResponse {
	return &seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: l}}
}

// splitter fills messages one after the other and gives each away. The first may get nothing, when the fragment takes all
// the room. After an error nothing more is given away.
type splitter struct {
	limit, room int
	now         []*seracv1.LeafAssignment
	full        int // messages given away
	take        func(assignments []*seracv1.LeafAssignment) error
	err         error
}

func (s *splitter) all(assignments []*seracv1.LeafAssignment) {
	for _, a := range assignments {
		switch {
		case a.GetFiles() != nil:
			s.addGroup(a.GetLeaf(), a.GetFiles())
		case a.GetShuffle() != nil:
			s.addShuffle(a.GetLeaf(), a.GetShuffle())
		case a.GetSplits() != nil:
			s.addSplits(a.GetLeaf(), a.GetSplits())
		default:
			s.fit(proto.Size(a) + perElement)
			s.put(a)
		}
	}
	s.close()
}

// perElement is what an element of a list costs beyond its own bytes, and an assignment beyond its elements, at most.
const perElement = 16

func (s *splitter) close() {
	if s.err == nil {
		s.err = s.take(s.now)
	}
	s.full++
	s.now, s.room = nil, s.limit
}

// fit begins a new message, and says so, if the present one has no room for n bytes.
func (s *splitter) fit(n int) bool {
	if n <= s.room || len(s.now) == 0 && s.full > 0 {
		return false
	}
	s.close()
	return true
}

func (s *splitter) put(a *seracv1.LeafAssignment) {
	s.now = append(s.now, a)
	s.room -= proto.Size(a) + perElement
}

// addList spreads a leaf's elements over as many assignments as it takes. open begins an assignment and gives what adds an
// element to it.
func addList[E proto.Message](s *splitter, elements []E, open func() (a *seracv1.LeafAssignment, add func(E))) {
	var add func(E)
	begin := func() {
		var a *seracv1.LeafAssignment
		a, add = open()
		s.put(a)
	}
	s.fit(2 * perElement)
	begin()
	for _, e := range elements {
		n := proto.Size(e) + perElement
		if s.fit(n) {
			begin()
		}
		add(e)
		s.room -= n
	}
}

func (s *splitter) addShuffle(leaf int32, all *seracv1.ShuffleInput) {
	addList(s, all.GetFiles(), func() (*seracv1.LeafAssignment, func(*seracv1.ShuffleFile)) {
		input := &seracv1.ShuffleInput{}
		return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Shuffle{Shuffle: input}},
			func(f *seracv1.ShuffleFile) { input.Files = append(input.Files, f) }
	})
}

func (s *splitter) addSplits(leaf int32, all *seracv1.SplitInput) {
	addList(s, all.GetSplits(), func() (*seracv1.LeafAssignment, func(*seracv1.Split)) {
		input := &seracv1.SplitInput{}
		return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Splits{Splits: input}},
			func(split *seracv1.Split) { input.Splits = append(input.Splits, split) }
	})
}

func (s *splitter) addGroup(leaf int32, all *seracv1.FileGroup) {
	var group *seracv1.FileGroup
	// Where delete files and residuals of all are in group: by position, and by position plus one.
	var at, left map[int32]int32
	open := func() {
		group, at, left = &seracv1.FileGroup{}, map[int32]int32{}, map[int32]int32{0: 0}
		s.put(&seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Files{Files: group}})
	}
	// cost is what a file adds to the group, with the delete files and the residual that are not in it yet.
	cost := func(f *seracv1.FileScanTask) int {
		n := proto.Size(f) + perElement
		for _, d := range f.GetDeletes() {
			if _, there := at[d]; !there {
				n += proto.Size(all.GetDeleteFiles()[d]) + perElement
			}
		}
		if _, there := left[f.GetResidual()]; !there {
			n += proto.Size(all.GetResiduals()[f.GetResidual()-1]) + perElement
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
		r := f.GetResidual()
		if _, there := left[r]; !there {
			group.Residuals = append(group.Residuals, all.GetResiduals()[r-1])
			left[r] = int32(len(group.GetResiduals()))
		}
		if len(f.GetDeletes()) > 0 || left[r] != r {
			f = proto.CloneOf(f)
			f.Residual = left[r]
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
