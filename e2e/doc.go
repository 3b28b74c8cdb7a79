// Package e2e tests replayd against a real DDNet server with real clients. The
// tests have the build tag e2e. `make e2e` runs them. They take minutes. They
// require Node, and either an installed server or root with apt-get, and are
// skipped otherwise.
//
// e2e/ddnet runs the server and the clients; e2e/record makes testdata's
// recordings with them.
package e2e
