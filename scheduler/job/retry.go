package job

import (
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// verdict is what a failed attempt means for its task.
type verdict uint8

const (
	// fatal: the job fails with this failure; another attempt would fail alike.
	fatal verdict = iota
	// counted: another attempt, as long as fewer than MaxAttempts have failed.
	counted
	// countedTwice: one more attempt and no further one, for what is most likely bound to happen again.
	countedTwice
	// free: another attempt that costs nothing; what makes these end stands where they are handled.
	free
	// refetch: the input is at fault; see fetchFailed.
	refetch
)

// judge decides by the kind of a failure, never by its text.
//
//	TRANSPORT, EXECUTOR_LOST  counted: elsewhere it may work. A task that kills its executors is stopped by the count.
//	CANCELLED                 counted: the machine did not ask for it (else the attempt would not be current), so the
//	                          executor ended it for reasons of its own, such as stopping.
//	RESOURCES_EXHAUSTED       one more attempt: memory is shared with whatever ran beside it, elsewhere or later it may
//	                          be enough; but a task that is too large stays too large, and each attempt takes long.
//	INTERNAL, unknown kinds   one more attempt: a broken disk is cured elsewhere, a fault in the code is not.
//	HANDED_BACK               free: the executor is draining, and it is offered nothing more, so this ends.
//	SHUFFLE_FETCH             the producer's output is lost and made again first.
//	STATEMENT, DEADLINE       fatal.
func judge(kind seracv1.FailureKind) verdict {
	switch kind {
	case seracv1.FailureKind_FAILURE_KIND_TRANSPORT, seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST,
		seracv1.FailureKind_FAILURE_KIND_CANCELLED:
		return counted
	case seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, seracv1.FailureKind_FAILURE_KIND_INTERNAL,
		seracv1.FailureKind_FAILURE_KIND_UNSPECIFIED:
		return countedTwice
	case seracv1.FailureKind_FAILURE_KIND_HANDED_BACK:
		return free
	case seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH:
		return refetch
	case seracv1.FailureKind_FAILURE_KIND_STATEMENT, seracv1.FailureKind_FAILURE_KIND_DEADLINE:
		return fatal
	default:
		return countedTwice
	}
}

// kindName is the failure kind as people read it.
func kindName(kind seracv1.FailureKind) string {
	const prefix = len("FAILURE_KIND_")
	if name := kind.String(); len(name) > prefix {
		return name[prefix:]
	}
	return kind.String()
}
