// Package access decides which callers are admitted and what each may do. Every request passes one Gate. gRPC calls pass its
// interceptors. Web requests pass them too, because they call the same handlers. Requests for metrics and debugging pass its
// HTTP handler.
//
//	rules.go   the file of tokens and certificate names
//	grant.go   what a caller may do
//	gate.go    admits callers, and ends calls when the rules change
//	grpc.go    the gate as gRPC interceptors
//	http.go    the gate as an HTTP handler; the check of host names
//	certs.go   certificates that can be reloaded
//	files.go   detects changes of files
//	audit.go   the log line of each call
//	sample.go  limits repeated log lines
//	address.go the address of the caller, also through proxies
//
// A method that is not listed in grpc.go requires all powers. A test fails until a new method is listed there.
package access
