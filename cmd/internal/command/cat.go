package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"reflect"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/terminal"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

type catCmd struct {
	Target
	Selection

	Replay string `arg:"" help:"A file, - for the standard input, or with --addr a replay's name. A directory is its newest replay."`
	All    bool   `help:"With --addr: the events of all replays below a directory, / for all roots, that are over, live and to come, until interrupted. Each line of JSON has the name of its replay."`

	Subscription string `help:"With --all: the name under which the daemon keeps what was printed. The same command goes on behind it." placeholder:"NAME"`

	Cursor string  `help:"Resume after this cursor, as HTTP, an error, or gRPC in base64, has it." xor:"start" placeholder:"CURSOR"`
	Tick   *int32  `help:"Start at this tick." xor:"start" placeholder:"TICK"`
	Last   *uint32 `help:"Start with the last N events, 1 to 1000000." xor:"start" placeholder:"N"`
	Now    bool    `help:"Start at the current end." xor:"start"`

	WithState bool `help:"First print the state at the start position, such as the players present."`

	Follow           bool `short:"f" help:"Print events as the file grows, until the replay ends. Resume after the daemon was unreachable."`
	FollowSuccessors bool `help:"Follow, and when the replay ends, continue with the next one of the same server."`

	NextInDirectory bool `help:"With --follow-successors: continue with the replay that began next in the directory, even if the last one has no end. For servers that crash or are renamed."`
	ResolvePlayers  bool `help:"Add the name, clan, team and role of each client to teehistorian events."`

	Maps   string  `help:"The directory with the maps of games, for kinds that need them, such as sample_character. Default: that of the replay. Only without --addr." type:"existingdir" placeholder:"DIR"`
	Strict bool    `help:"Fail when a teehistorian file or a demo ends without the end marker of its format."`
	Format string  `short:"o" help:"json, jsonl: one object per line. table: a line for people, as long as the terminal; compact: all of it. csv: the table of one kind, for --kind KIND. proto: StreamEventsResponse messages, each after its length as a varint. auto: a table on a terminal, else json." enum:"auto,table,json,jsonl,compact,csv,proto" default:"auto" env:"-"`
	Reveal Secrets `help:"Do not redact secrets such as timeout codes: all, or some by name, such as connection_id,antibot. Only without --addr; a daemon has its own --reveal-secrets." placeholder:"NAMES" name:"reveal-secrets"`
}

// Selection holds the flags that select events. An event must satisfy all of them.
type Selection struct {
	Kind        []string `help:"Only events of these kinds." placeholder:"KIND"`
	ExcludeKind []string `help:"No events of these kinds." placeholder:"KIND"`
	Player      []int32  `help:"Only events of these players." placeholder:"ID"`
	Team        []int32  `help:"Only events of these teams." placeholder:"TEAM"`
	Type        []string `help:"Only events of these types, such as COMBAT_LOG_TYPE_DEATH of a combat_log, CHAT_MESSAGE_ROSHAN_KILL of a chat_event, player_death of a game_event." placeholder:"TYPE"`
	Class       []string `help:"Only events of entities whose class matches (*, ?)." placeholder:"GLOB"`
	Field       []string `help:"Only entity fields whose name matches (*, ?)." placeholder:"GLOB"`
	Group       []int32  `help:"Only layers of these groups of a map." placeholder:"GROUP"`
	Layer       []int32  `help:"Only these layers of a map." placeholder:"LAYER"`
	FromTick    *int32   `help:"No events before this tick." placeholder:"TICK"`
	ToTick      *int32   `help:"No events after this tick." placeholder:"TICK"`
	Every       *int32   `help:"Only events of ticks that are multiples of this number. Samples are of each second of the game if it is left out." placeholder:"TICKS"`
	Where       string   `help:"Only events for which this expression in CEL is true, such as 'event.damage > 100 && event.weapon == \"awp\"'." placeholder:"EXPR"`
}

// Apply puts the selection into a request.
func (s *Selection) Apply(req *replaydv1.StreamEventsRequest) {
	in := &replaydv1.EventFilter{Kinds: s.Kind, Players: s.Player, Teams: s.Team}
	if len(s.Class)+len(s.Field)+len(s.Type) > 0 {
		in.Dem = &replaydv1.DemFilter{Classes: s.Class, Fields: s.Field, Types: s.Type}
	}
	if len(s.Group)+len(s.Layer) > 0 {
		in.Datafile = &replaydv1.DatafileFilter{Groups: s.Group, Layers: s.Layer}
	}
	if s.FromTick != nil || s.ToTick != nil || s.Every != nil {
		in.Ticks = &replaydv1.TickRange{Min: s.FromTick, Max: s.ToTick, Every: s.Every}
	}
	req.Include, req.Where = append(req.Include, in), s.Where
	if len(s.ExcludeKind) > 0 {
		req.Exclude = append(req.Exclude, &replaydv1.EventFilter{Kinds: s.ExcludeKind})
	}
}

func (c *catCmd) request() (*replaydv1.StreamEventsRequest, error) {
	req := &replaydv1.StreamEventsRequest{
		Replay: c.Replay, Strict: c.Strict, Follow: c.Follow || c.FollowSuccessors, FollowSuccessors: c.FollowSuccessors,
		ResolvePlayers: c.ResolvePlayers,
	}
	if c.NextInDirectory {
		req.SuccessorRule = replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY
	}
	if c.Addr != "" && req.GetFollow() {
		req.Replay = Directory(c.Replay)
	}
	c.Apply(req)
	if c.Format == "csv" {
		if len(c.Kind) != 1 {
			return nil, usageError{errors.New("csv has the columns of one kind: add --kind KIND; replayd export writes a file for each kind")}
		}
		req.Encoding = replaydv1.Encoding_ENCODING_ARROW
	}
	if c.WithState {
		req.Start = &replaydv1.Start{WithState: true}
	}
	switch {
	case c.Cursor != "":
		at, err := cursor.ParseText(c.Cursor)
		if err != nil {
			return nil, usageError{fmt.Errorf("--cursor %w", err)}
		}
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at}, WithState: c.WithState}
	case c.Tick != nil:
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Tick{Tick: *c.Tick}, WithState: c.WithState}
	case c.Last != nil:
		req.Start = &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: *c.Last}, WithState: c.WithState}
	case c.Now:
		req.Start = &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}, WithState: c.WithState}
	}
	return req, nil
}

// Run prints the events.
func (c *catCmd) Run(ctx context.Context, con Console, p Program) error {
	if c.Subscription != "" && !c.All {
		return usageError{errors.New("--subscription is for --all")}
	}
	if c.All {
		return c.all(ctx, con)
	}
	p.maps = c.Maps
	req, err := c.request()
	if err != nil {
		return err
	}
	progress := newProgress(con)
	defer progress.done()
	out := bufio.NewWriterSize(progress.over(con.Out), 64<<10)
	note := func(text string) {
		progress.done()
		_, _ = fmt.Fprintln(con.Err, "replayd:", text)
	}
	s := streaming{target: &c.Target, program: p, in: con.In, reveal: c.Reveal.Secrets, note: note}
	width := widthOf(con)
	switch {
	case c.Format == "proto":
		s.each, s.wire = printProto(out), true
	case c.Format == "csv":
		s.each = printCSV(out, note, progress)
	case c.Format == "compact":
		s.each = printLines(out, note, progress, (&terminal.Events{}).Append)
	case c.Format == "table" || c.Format == "auto" && width > 0:
		s.each = printLines(out, note, progress, (&terminal.Events{Painter: newPainter(con), Width: cmp.Or(width, unknownWidth)}).Append)
	default:
		s.each = printLines(out, note, progress, nil)
	}
	if req.GetFollow() {
		s.each = flushed(out, s.each)
	}
	run := func(name string) error {
		req.Replay = name
		return s.run(ctx, req)
	}
	if req.GetFollow() { // the daemon finds the newest replay of a directory by itself
		err = named(req.GetReplay(), run(req.GetReplay()))
	} else {
		err = c.orNewest(ctx, progress.over(con.Err), p, req.GetReplay(), run)
	}
	if err == nil && !s.some && !reflect.DeepEqual(c.Selection, Selection{}) {
		note("no event matches")
	}
	if flushed := out.Flush(); flushed != nil {
		return flushed
	}
	return s.resumable(ctx, req.GetFollow(), err)
}

// flushed writes each response to the output at once.
func flushed(out *bufio.Writer, each func(client.Response) error) func(client.Response) error {
	return func(r client.Response) error {
		if err := each(r); err != nil {
			return err
		}
		return out.Flush()
	}
}

// printProto prints the wire bytes of responses, each after its length as a varint.
func printProto(out *bufio.Writer) func(client.Response) error {
	return func(r client.Response) error {
		var length [binary.MaxVarintLen64]byte
		if _, err := out.Write(length[:binary.PutUvarint(length[:], uint64(len(r.Wire)))]); err != nil {
			return err
		}
		_, err := out.Write(r.Wire)
		return err
	}
}

// printLines prints each event as a line of JSON. If reshape is not nil, it converts the JSON to the line. note receives a text
// for responses without events, such as the end of the stream.
func printLines(
	out *bufio.Writer, note func(string), progress *progress, reshape func(dst, event []byte) ([]byte, error),
) func(client.Response) error {
	var line, shaped []byte
	return func(r client.Response) error {
		progress.add(len(r.Wire))
		if r.Batch == nil {
			noteResponse(note, r.Message)
			return nil
		}
		for event, err := range r.Batch.Events() {
			if err != nil {
				return err
			}
			if line, err = event.AppendJSON(line[:0]); err != nil {
				return err
			}
			text := line
			if reshape != nil {
				if shaped, err = reshape(shaped[:0], line); err != nil {
					return err
				}
				text = shaped
			}
			_, _ = out.Write(text) // WriteByte returns the error, which sticks
			if err := out.WriteByte('\n'); err != nil {
				return err
			}
		}
		return nil
	}
}

// noteResponse passes to note the content of a response without events, if it matters to a reader of the events.
func noteResponse(note func(string), r *replaydv1.StreamEventsResponse) {
	for _, doubt := range r.GetStart().GetReplay().GetDoubts() {
		note(doubt)
	}
	status := r.GetFollowStatus()
	switch {
	case r.GetEnd().GetDetail() != "":
		note(r.GetEnd().GetDetail())
	case status.GetSuccessor() != nil:
		note("the next replay is " + path.Base(status.GetSuccessor().GetName()))
	case status.GetReplay() != "":
		note("the replay was moved to " + status.GetReplay())
	case status.GetWaiting() != nil:
		note(waitingText(status.GetWaiting()))
	case r.GetGap() != nil:
		note(fmt.Sprintf("%d events are missing", r.GetGap().GetNextSequence()-r.GetGap().GetFirstSequence()))
	}
}

// writerTexts say what is known of the writer of a replay without an end.
var writerTexts = map[replaydv1.Writer]string{
	replaydv1.Writer_WRITER_PRESENT:           ": its server is running",
	replaydv1.Writer_WRITER_ABSENT:            ", although nobody writes to it any more",
	replaydv1.Writer_WRITER_UNKNOWN_ELSEWHERE: " (whether its server is running cannot be known from here)",
	replaydv1.Writer_WRITER_UNKNOWN_FORBIDDEN: " (whether its server is running may not be asked: the daemon needs CAP_LEASE, or the server's user)",
}

// waitingText describes what a stream waits for.
func waitingText(w *replaydv1.Waiting) string {
	text := "the replay may continue"
	if w.GetWaitingFor() == replaydv1.WaitingFor_WAITING_FOR_SUCCESSOR {
		text = "the replay is over; waiting for the next one"
	}
	text += writerTexts[w.GetWriter()]
	for i, name := range w.GetLikelySuccessors() {
		if i == 0 {
			text += "; it may be"
		} else {
			text += ","
		}
		text += " " + path.Base(name)
	}
	return text
}
