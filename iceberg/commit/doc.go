// Package commit turns the data files of a statement into one snapshot of a table. The scheduler commits, once per
// statement: the commit id stands in the snapshot's summary (SummaryKey) and is looked up before the first attempt,
// inside every retry, and after an attempt whose outcome is unknown (rule 23).
package commit
