// Package client is `serac sql`: a Flight SQL client like any other, for scripts and for people. It runs statements one
// after the other, prints their results as a table, CSV, TSV or JSON, shows how far a long one is, and cancels it on the
// server when it is interrupted.
//
// It knows nothing of the server but its protocol, and one message of ours in it: a statement's progress
// (seracv1.StatementProgress), which it can do without.
//
// Start at Conn (connect.go) for the protocol, Session (session.go) for running statements and printing them, and
// Shell (shell.go) for the interactive part. value.go turns Arrow's values into text.
package client
