// Package access decides who may do what. Every way in passes one Gate: gRPC by its interceptors, the web because it calls
// the same handlers, metrics and debugging by its HTTP handler.
//
//	rules.go  the file of tokens and names of certificates
//	grant.go  what a caller may do
//	gate.go   who is let in, and who is sent away when the rules change
//	grpc.go   the gate as interceptors
//	http.go   the gate before metrics and debugging; which names of hosts are answered
//	certs.go  certificates, read again when they change
//	files.go  noticing that files change
//	audit.go  a line in the log for each call
//	sample.go fewer lines in a flood
//	address.go who calls, also through proxies
//
// Methods are denied unless they are known: one that is added to the service must be named in grpc.go, or a test fails.
package access
