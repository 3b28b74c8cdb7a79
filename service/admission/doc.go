// Package admission limits the resources that callers use at once: streams and calls, memory, bytes that are spooled to disk,
// and processors. It refuses new work before running work suffers.
//
//	control.go     budgets: in total, for each token, for each address
//	ticket.go      what one call has taken
//	turns.go       shares the processors among streams
//	memory.go      the available memory, and the pace of garbage collection
//	connections.go the number of connections
//
// Code that allocates much memory declares it: a decompressor declares its window, a stream its decoder. The declared sizes are
// upper estimates. The garbage collector needs memory too, so the budget is only a part of the available memory.
package admission
