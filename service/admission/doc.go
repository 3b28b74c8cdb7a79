// Package admission limits what callers take of the machine at once: streams and calls, memory, bytes that are spooled to
// disk, and the processors. New work is refused before old work suffers.
//
//	control.go     budgets: in all, for each token, for each address
//	ticket.go      what one call has taken
//	turns.go       the processors, handed round
//	memory.go      how much memory there is
//	connections.go how many connections there may be
//
// Whoever allocates declares it: a decompressor its window, a stream its decoder. What is declared is an estimate from above;
// the garbage collector needs room besides, which is why the budget of memory is a part of what there is.
package admission
