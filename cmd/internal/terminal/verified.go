package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/replayd/replayd/replay/verify"
)

// Verified prints what recordings prove.
type Verified struct {
	Out   io.Writer
	Width int
	Dim   func(string) string
}

// Print prints a report: a line about all, a row for each player and for each run, and one for each tile and weapon that was at work.
func (v *Verified) Print(r *verify.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %d ticks proven on %s (DDNet %s, %s)\n",
		r.Verdict, share(&r.Part), r.Proven+r.Corrected+r.Unknown, clean(r.MapName), clean(r.ServerVersion), clean(r.End))
	g := grid{heads: []heading{
		{title: "player"}, {title: "run", right: true, spare: 1}, {title: "ticks", right: true}, {title: "proven", right: true},
		{title: "verdict"}, {title: "because", spare: 2},
	}}
	for i := range r.Players {
		p := &r.Players[i]
		g.add(clean(p.Name), "", ticks(&p.Part), share(&p.Part), string(p.Verdict), because(&p.Part))
		for j := range p.Runs {
			run := &p.Runs[j]
			g.add(clean(p.Name), fmt.Sprintf("%.2f s", run.Seconds), ticks(&run.Part), share(&run.Part), string(run.Verdict), because(&run.Part))
		}
	}
	b.WriteByte('\n')
	g.print(&b, v.Width, v.Dim)
	if len(r.Coverage) > 0 {
		covered := grid{heads: []heading{{title: "at work"}, {title: "ticks", right: true}, {title: "proven", right: true}}}
		for _, c := range r.Coverage {
			covered.add(clean(c.What), strconv.FormatInt(c.Ticks, 10), share(&verify.Part{Proven: c.Proven, Unknown: c.Ticks - c.Proven}))
		}
		b.WriteByte('\n')
		covered.print(&b, v.Width, v.Dim)
	}
	_, err := io.WriteString(v.Out, b.String())
	return err
}

func ticks(p *verify.Part) string { return fmt.Sprintf("%d-%d", p.FirstTick, p.LastTick) }

// share returns the part of the ticks that is proven. Only all of them are 100 %.
func share(p *verify.Part) string {
	total := p.Proven + p.Corrected + p.Unknown
	if total == 0 {
		return "none"
	}
	if p.Proven == total {
		return "100 %"
	}
	return strconv.FormatFloat(float64(p.Proven*10000/total)/100, 'f', 2, 64) + " %"
}

// because says why a part is not proven.
func because(p *verify.Part) string {
	var why []string
	if d := p.Broken; d != nil {
		why = append(why, fmt.Sprintf("tick %d at %d, %d: not %d, %d", d.Tick, d.X, d.Y, d.X-d.DX, d.Y-d.DY))
	}
	for _, c := range p.Causes {
		name := c.Cause
		if c.Tile != "" {
			name += " " + c.Tile
		}
		why = append(why, fmt.Sprintf("%s: %d", name, c.Ticks))
	}
	return strings.Join(why, ", ")
}
