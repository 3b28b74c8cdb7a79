// Package agent offers a daemon's replays to assistants, and to other programs that call tools by the Model Context Protocol: what
// there is, who played, how it stands, what happened, and the state at a moment.
//
//	agent.go   the server, and what all tools share
//	replays.go tools that find and describe replays
//	events.go  tools that give events and states
//	picture.go the tool that draws
//	http.go    the tools over HTTP
//
// A tool only reads, by the same calls as any other client: the daemon's tokens, scopes, redaction and limits hold. Answers are the
// JSON of docs/json.md, and bounded: an answer that leaves something out says so, and how to go on.
package agent
