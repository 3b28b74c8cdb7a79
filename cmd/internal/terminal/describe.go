package terminal

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Counts are the results of decoding a whole replay.
type Counts struct {
	// End is how the stream ended, and Detail the reason, if there is one.
	End, Detail string
	// Events has the number of events of each kind.
	Events map[string]int64
	// Unknown are the fields of a demo's messages that the decoder does not know. Of MoreUnknown further ones only the number is
	// known.
	Unknown     []*demv1.UnknownField
	MoreUnknown int64
}

// Description prints descriptions of replays, with a line for each known fact and its name.
type Description struct {
	Out io.Writer
	// Width is the number of the terminal's columns.
	Width int
	// Dim returns a text in the colour of titles. Nil changes nothing.
	Dim func(string) string
}

// Print prints the description of a replay. counts may be nil.
func (p *Description) Print(r *replaydv1.Replay, counts *Counts) error {
	d := description{width: p.Width, dim: p.Dim}
	d.add("name", clean(r.GetName()))
	format := name(r.GetFormat().String(), "FORMAT_")
	if c := r.GetCompression(); c != replaydv1.Compression_COMPRESSION_NONE && c != replaydv1.Compression_COMPRESSION_UNSPECIFIED {
		format += ", compressed by " + name(c.String(), "COMPRESSION_")
	}
	d.add("format", format)
	d.add("map", clean(r.GetMapName()))
	d.add("map file", clean(r.GetMapReplay()))
	d.header(r)
	if t := r.GetStartTime(); t != nil {
		d.add("started", t.AsTime().UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if r.GetDuration() != nil {
		d.add("length", length(r.GetDuration().AsDuration()))
	}
	d.add("state", State(r))
	if r.GetSizeBytes() > 0 {
		d.add("size", Size(r.GetSizeBytes()))
	}
	d.people(r)
	d.counts(counts)
	d.add("doubts", cleaned(r.GetDoubts())...)
	return d.print(p.Out)
}

// entry is a name with the lines after it.
type entry struct {
	name  string
	lines []string
}

type description struct {
	entries []entry
	width   int                 // of the lines; 0 is no limit
	dim     func(string) string // nil changes nothing
}

// add adds lines under a name. It leaves out empty lines.
func (d *description) add(name string, lines ...string) {
	if lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" }); len(lines) > 0 {
		d.entries = append(d.entries, entry{name, lines})
	}
}

func (d *description) print(out io.Writer) error {
	widest := 0
	for _, e := range d.entries {
		widest = max(widest, len(e.name))
	}
	var b strings.Builder
	for _, e := range d.entries {
		head := fmt.Sprintf("%-*s", widest, e.name)
		if d.dim != nil {
			head = d.dim(head)
		}
		for _, line := range e.lines {
			if d.width > 0 && e.name != "name" { // which other commands take
				line = strings.Join(folded(line, max(d.width-widest-gap, leastCells)), "\n"+strings.Repeat(" ", widest+gap))
			}
			b.WriteString(head + "  " + line + "\n")
			head = strings.Repeat(" ", widest)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// header adds the server's and the game's facts from the format's own header.
func (d *description) header(r *replaydv1.Replay) {
	switch h := r.GetHeader().(type) {
	case *replaydv1.Replay_Teehistorian:
		d.add("server", clean(h.Teehistorian.GetServerName()))
		d.add("version", clean(h.Teehistorian.GetServerVersion()))
	case *replaydv1.Replay_Dem:
		file := h.Dem.GetFileHeader()
		directory := strings.ReplaceAll(file.GetGameDirectory(), `\`, "/")
		d.add("game", clean(cmp.Or(file.GetGame(), directory[strings.LastIndexByte(directory, '/')+1:])))
		d.add("server", clean(file.GetServerName()))
	case *replaydv1.Replay_Sc2Replay:
		v := h.Sc2Replay.GetStart().GetVersion()
		d.add("version", fmt.Sprintf("%d.%d.%d.%d", v.GetMajor(), v.GetMinor(), v.GetRevision(), v.GetBuild()))
	}
}

// people adds who played, and everybody who took part.
func (d *description) people(r *replaydv1.Replay) {
	if r.GetLineup() != "" {
		d.add("players", clean(Players(r)))
	}
	d.add("result", clean(Result(r)))
	perSecond := cmp.Or(r.GetTicksPerSecond(), 50)
	at := func(tick int32) string {
		return length(time.Duration(float64(tick) / perSecond * float64(time.Second)))
	}
	var lines []string
	for _, p := range r.GetParticipants() {
		to := "the end"
		if p.ToTick != nil {
			to = at(p.GetToTick())
		}
		parts := []string{fmt.Sprintf("%s  %s to %s",
			clean(cmp.Or(strings.Join(p.GetNames(), " → "), fmt.Sprintf("client %d", p.GetClientId()))), at(p.GetFromTick()), to)}
		for _, more := range append([]string{p.GetClan()}, append(p.GetRoles(), p.GetLeaveReason())...) {
			if more != "" {
				parts = append(parts, clean(more))
			}
		}
		if n := p.GetFinishCount(); n > 0 {
			parts = append(parts, fmt.Sprintf("finished %d times", n))
		}
		lines = append(lines, strings.Join(parts, ", "))
	}
	if n := r.GetParticipantsLeftOut(); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	d.add("took part", lines...)
}

// counts adds how decoding ended, and the kinds of events, most frequent first.
func (d *description) counts(c *Counts) {
	if c == nil {
		return
	}
	end := c.End
	if c.Detail != "" {
		end += ": " + clean(c.Detail)
	}
	d.add("end", end)
	kinds := slices.SortedFunc(maps.Keys(c.Events), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Events[b], c.Events[a]), cmp.Compare(a, b))
	})
	lines := make([]string, len(kinds))
	for i, kind := range kinds {
		lines[i] = fmt.Sprintf("%10d  %s", c.Events[kind], kind)
	}
	d.add("events", lines...)
	lines = nil
	for _, f := range c.Unknown {
		line := fmt.Sprintf("field %d of %s, %d times", f.GetNumber(), clean(f.GetMessage()), f.GetCount())
		if f.GetChanged() {
			line += ", known with another wire type"
		}
		lines = append(lines, line)
	}
	if c.MoreUnknown > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", c.MoreUnknown))
	}
	d.add("unknown", lines...)
}
