// Package e2e tests replayd against a real DDNet server that real clients play
// on. The tests have the build tag e2e and run by `make e2e`: they take
// minutes, Node, and either an installed server or root with apt-get, and skip
// without those.
//
// e2e/ddnet runs the server and the clients; e2e/record makes testdata's
// recordings with them.
package e2e
