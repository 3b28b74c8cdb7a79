// Package succession decides when a replay that is followed is over, and what comes after it. It is the only place that
// does; docs/following.md says the same to users.
//
//	find.go        what is known of the replays around one
//	succession.go  what follows from that
package succession

import (
	"errors"

	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/source"
)

// Rule is what makes a replay the next one. The API's SuccessorRule has the same names.
type Rule uint8

const (
	// Proven says that it names the one before it, or nothing else can have come after one that is finished.
	Proven Rule = iota
	// NextInDirectory allows also the one that began next in the same directory.
	NextInDirectory
)

var ruleNames = [...]string{Proven: "proven", NextInDirectory: "next_in_directory"}

// Rules returns all rules.
func Rules() []Rule { return []Rule{Proven, NextInDirectory} }

// String returns the rule's name in the API, such as "proven".
func (r Rule) String() string { return ruleNames[r] }

// Situation is what is known of a replay whose bytes are used up for now.
type Situation struct {
	// Finished: the end that the format asks for was read.
	Finished bool
	// Lost is what became of its file: source.ErrRemoved and the like; nil while it lies there.
	Lost error
	// Found are the replays around it.
	Found Found
	// GoOn: a successor is wanted.
	GoOn bool
	Rule Rule
}

// Step is what to do.
type Step uint8

const (
	// WaitForMore says that the replay may go on.
	WaitForMore Step = iota
	// WaitForNext says that it is over, and no successor is there.
	WaitForNext
	// End says that it is over, and nothing else is wanted, or it is not known what comes after it.
	End
	// GoOn says that the stream goes on with a successor.
	GoOn
)

// Verdict is what follows from a situation.
type Verdict struct {
	Step Step
	// To is the successor, with GoOn.
	To *index.Entry
	// Left: the replay is left although it may still grow.
	Left bool
}

// Decide says what follows from a situation. In this order:
//
//  1. A file that shrank holds nothing any more: the end.
//  2. A replay that names this one as the one before proves that this one is over, with or without an end.
//  3. A file that is gone: the end, unless the rule names a successor. No more of it can be read.
//  4. A finished replay: on to the successor that the rule names, or wait for one.
//  5. All others may go on, and are waited for, unless the rule says otherwise. Neither name nor port nor time prove anything.
func Decide(s Situation) Verdict {
	if errors.Is(s.Lost, source.ErrShrunk) || s.Lost != nil && !errors.Is(s.Lost, source.ErrRemoved) && !errors.Is(s.Lost, source.ErrReplaced) {
		return Verdict{Step: End}
	}
	to := s.Found.Linked
	if to == nil && s.Finished {
		to = s.Found.Restarted
	}
	left := false
	if to == nil && s.Rule == NextInDirectory {
		to, left = s.Found.Next, !s.Finished && s.Lost == nil
	}
	switch {
	case to != nil && s.GoOn:
		return Verdict{Step: GoOn, To: to, Left: left}
	case s.Found.Linked != nil, s.Lost != nil, s.Finished && !s.GoOn:
		return Verdict{Step: End}
	case s.Finished:
		return Verdict{Step: WaitForNext}
	}
	return Verdict{Step: WaitForMore}
}
