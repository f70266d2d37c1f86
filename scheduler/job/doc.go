// Package job is the state machine of one job: its stages, their tasks, and the attempts at each task.
//
// The machine is pure. Events go in (Step), actions come out, and nothing else happens: no I/O, no clock, no goroutine,
// no randomness, so every run of it can be written down (testdata/*.txt) and replayed. Package cluster surrounds it with
// streams, leases and placement, and is the only one that decides that an executor is lost.
//
// A job:
//
//	active ──every task of the result and write stages done──▶ succeeded
//	   └──── statement error, attempts used up, cancel, deadline ───▶ failed
//
// A stage. Its state is a function of three facts (stage.next): tasks without output, whether anybody needs that output,
// whether the inputs are complete:
//
//	waiting ──all inputs complete──▶ running ──every task done──▶ finished
//	   ▲ ▲                             │ ▲ ▲                         │
//	   │ └───an input's output lost────┘ │ └───output lost, needed───┤
//	   │                                 │                           │
//	   │                           needed again                      │
//	   └──needed again, input missing──┐ │                           │
//	                                 dormant ◀──output lost, and no──┘
//	                                            consumer needs it
//
// A task:
//
//	pending ──Launch──▶ running ──output accepted──▶ done
//	   ▲  ▲                │                           │
//	   │  └─attempt failed,┘                           │
//	   │    handed back, executor lost                 │
//	   └──shuffle output lost (fetch failed, executor lost)
//
// What ends an attempt, and what it costs, is decided in one place (retry.go). A job always ends: attempts of a task,
// losses of a task's output and resubmissions of a stage are all limited.
//
// Output is made again only if somebody still needs it, and only what was lost, as long as a stage is determinate. When a
// stage is not, everything made from its lost output is given up with it (loss.go, giveUpConsumers).
//
// Every attempt has a number that is never used twice. A status that names any other attempt than the one that the task
// is at is stale: it changes nothing, but data files that it brings are handed out for deletion (rule 24).
//
// Read spec.go and event.go first, then machine.go.
package job
