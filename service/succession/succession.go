// Package succession decides when a followed replay has ended, and which replay succeeds it. No other package decides that.
// docs/following.md describes the rules to users.
//
//	find.go        finds the replays around a replay
//	crash.go       finds out whether a replay without an end is over, and which replay followed it
//	succession.go  decides what to do next
package succession

import (
	"errors"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
)

// Rule is the rule by which a replay counts as the successor. The API's SuccessorRule has the same names.
type Rule uint8

const (
	// Proven allows a replay that names this one as the one before. After a finished replay, and after one whose writer is gone, it
	// also allows the only replay that can have come next.
	Proven Rule = iota
	// NextInDirectory also allows the replay that began next in the same directory.
	NextInDirectory
)

var ruleNames = [...]string{Proven: "proven", NextInDirectory: "next_in_directory"}

// Rules returns all rules.
func Rules() []Rule { return []Rule{Proven, NextInDirectory} }

// String returns the rule's name in the API, such as "proven".
func (r Rule) String() string { return ruleNames[r] }

// Situation describes a replay whose present bytes were all read.
type Situation struct {
	// Finished reports whether the end that the format requires was read.
	Finished bool
	// Lost is the error of a lost file, such as source.ErrRemoved. It is nil while the file exists.
	Lost error
	// Found are the replays around it.
	Found Found
	// GoOn reports whether the client wants a successor.
	GoOn bool
	Rule Rule
}

// Step is what to do.
type Step uint8

const (
	// WaitForMore means to wait, because the replay may continue.
	WaitForMore Step = iota
	// WaitForNext means to wait for a successor. The replay has ended, and has no successor yet.
	WaitForNext
	// End means to end the stream. The replay has ended, and the client wants no successor or the successor is unknown.
	End
	// GoOn means to continue the stream with a successor.
	GoOn
)

// Verdict is the result of Decide.
type Verdict struct {
	Step Step
	// To is the successor if Step is GoOn.
	To *index.Entry
	// Left reports whether the stream leaves the replay although it may still grow.
	Left bool
}

// Decide returns what to do in a situation. It applies these rules in order:
//
//  1. If the file shrank, the stream ends: the file's contents are gone.
//  2. If a replay names this one as the one before, this one has ended, with or without an end of its own.
//  3. If the file is gone, the stream ends, unless the rule names a successor. No more of the file can be read.
//  4. If the replay is finished, the stream continues with the successor that the rule names, or waits for one.
//  5. If no process writes to the replay any more, and it is known with which replay its server started again, this one has ended.
//  6. Otherwise the replay may continue, and the stream waits, unless the rule names a successor. Name, port and time prove
//     nothing.
func Decide(s Situation) Verdict {
	if errors.Is(s.Lost, source.ErrShrunk) || s.Lost != nil && !errors.Is(s.Lost, source.ErrRemoved) && !errors.Is(s.Lost, source.ErrReplaced) {
		return Verdict{Step: End}
	}
	to := s.Found.Linked
	switch {
	case to != nil:
	case s.Finished:
		to = s.Found.Restarted
	default:
		to = s.Found.Crash.Next
	}
	crashed := !s.Finished && to != nil
	left := false
	if to == nil && s.Rule == NextInDirectory {
		to, left = s.Found.Next, !s.Finished && s.Lost == nil
	}
	switch {
	case to != nil && s.GoOn:
		return Verdict{Step: GoOn, To: to, Left: left}
	case s.Found.Linked != nil, crashed, s.Lost != nil, s.Finished && !s.GoOn:
		return Verdict{Step: End}
	case s.Finished:
		return Verdict{Step: WaitForNext}
	}
	return Verdict{Step: WaitForMore}
}
