// Package upgrade holds tests only: the program as it is now, on the real engine, against environments that an earlier
// revision left behind. It owns one promise: a new revision of the program replaces and deletes nothing that an
// unchanged configuration asks for. What a changed configuration does is in sandbox/lifecycle.
//
// testdata/<environment> holds what an update by the earlier revision left: the stack file, the stack's state and the
// simulated account. All were recorded at revision 8af415b. A recording is history, so keep it when the program
// changes. Record anew only when a replacement is wanted and announced, or when the simulated account has changed in a
// way that no real one would:
//
//	go test -trimpath -ldflags="-w -s" ./tests/upgrade -record
package upgrade
