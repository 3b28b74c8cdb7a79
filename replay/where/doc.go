// Package where decides by an expression in CEL which events a stream delivers: see StreamEventsRequest.where, which says what an
// expression means.
//
// An expression is compiled once for a request, for each kind of events by itself: what it says of other kinds is removed, fields
// that the kind does not have are absent, and the rest is checked against the kind's message. CEL's errors are the third value of
// SQL: an absent field makes a comparison neither true nor false.
//
//	compile.go  an expression, checked, and its limits
//	rewrite.go  what is left of it for one kind
//	fast.go     comparisons that need no CEL
//	types.go    the messages of events, as CEL sees them
//	match.go    events, compared with it
package where
