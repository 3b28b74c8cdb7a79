package succession_test

import (
	"testing"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/succession"
)

// TestDecide tests the table of docs/following.md.
func TestDecide(t *testing.T) {
	linked, restarted, next := &index.Entry{}, &index.Entry{}, &index.Entry{}
	for what, test := range map[string]struct {
		situation succession.Situation
		want      succession.Verdict
	}{
		"it may go on": {succession.Situation{GoOn: true}, succession.Verdict{Step: succession.WaitForMore}},
		"a later one of that name proves nothing": {
			succession.Situation{GoOn: true, Found: succession.Found{Restarted: restarted, Next: next, Likely: []string{"x"}}},
			succession.Verdict{Step: succession.WaitForMore},
		},
		"another names it":               {succession.Situation{GoOn: true, Found: succession.Found{Linked: linked}}, succession.Verdict{Step: succession.GoOn, To: linked}},
		"another names it, nothing more": {succession.Situation{Found: succession.Found{Linked: linked}}, succession.Verdict{Step: succession.End}},
		"its writer is gone":             {succession.Situation{GoOn: true, Found: succession.Found{Crash: succession.Crash{Next: next}}}, succession.Verdict{Step: succession.GoOn, To: next}},
		"its writer is gone, nothing more": {
			succession.Situation{Found: succession.Found{Crash: succession.Crash{Next: next}}}, succession.Verdict{Step: succession.End},
		},
		"its writer is gone, and nobody began again": {
			succession.Situation{GoOn: true, Found: succession.Found{Crash: succession.Crash{Writer: source.Absent}, Restarted: restarted}},
			succession.Verdict{Step: succession.WaitForMore},
		},
		"finished, so that it has not crashed": {
			succession.Situation{Finished: true, GoOn: true, Found: succession.Found{Crash: succession.Crash{Next: next}}},
			succession.Verdict{Step: succession.WaitForNext},
		},
		"finished":                  {succession.Situation{Finished: true}, succession.Verdict{Step: succession.End}},
		"finished, and on":          {succession.Situation{Finished: true, GoOn: true, Found: succession.Found{Next: next}}, succession.Verdict{Step: succession.WaitForNext}},
		"started again":             {succession.Situation{Finished: true, GoOn: true, Found: succession.Found{Restarted: restarted}}, succession.Verdict{Step: succession.GoOn, To: restarted}},
		"removed":                   {succession.Situation{Lost: source.ErrRemoved, GoOn: true}, succession.Verdict{Step: succession.End}},
		"removed, another names it": {succession.Situation{Lost: source.ErrRemoved, GoOn: true, Found: succession.Found{Linked: linked}}, succession.Verdict{Step: succession.GoOn, To: linked}},
		"shrunk, another names it":  {succession.Situation{Lost: source.ErrShrunk, GoOn: true, Found: succession.Found{Linked: linked}}, succession.Verdict{Step: succession.End}},
		"unreadable, another names it": {
			succession.Situation{Lost: source.ErrIO, GoOn: true, Found: succession.Found{Linked: linked}}, succession.Verdict{Step: succession.End},
		},
		"vouched for": {
			succession.Situation{GoOn: true, Rule: succession.NextInDirectory, Found: succession.Found{Next: next}},
			succession.Verdict{Step: succession.GoOn, To: next, Left: true},
		},
		"vouched for, finished": {
			succession.Situation{GoOn: true, Finished: true, Rule: succession.NextInDirectory, Found: succession.Found{Next: next}},
			succession.Verdict{Step: succession.GoOn, To: next},
		},
		"vouched for, but proven otherwise": {
			succession.Situation{GoOn: true, Rule: succession.NextInDirectory, Found: succession.Found{Linked: linked, Next: next}},
			succession.Verdict{Step: succession.GoOn, To: linked},
		},
	} {
		if got := succession.Decide(test.situation); got != test.want {
			t.Errorf("%s: %+v, want %+v", what, got, test.want)
		}
	}
}
