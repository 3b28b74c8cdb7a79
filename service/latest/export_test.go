package latest

import (
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/index"
)

// Board is the board of a game of a format, for tests.
type Board struct {
	board
	samples, still samples
}

// NewBoard returns a board with some columns.
func NewBoard(c *codec.Codec, columns ...string) (*Board, error) {
	b := &Board{}
	b.list = listOf(c.NewEventList())
	var err error
	b.samples.of, err = newSampled(c, columns)
	b.still.of = b.samples.of
	return b, err
}

// Set stores the state after a tick that a list of samples has, encoded.
func (b *Board) Set(tick int32, unfinished bool, events []byte) error {
	s := &b.samples
	if unfinished {
		s = &b.still
		s.reset()
	}
	if err := s.add(events); err != nil {
		return err
	}
	b.update(tick, unfinished, s, time.Now())
	return nil
}

// Fail, Finish and Describe are what happens to a game besides.
func (b *Board) Fail(f *replaydv1.SubscriptionFailure) { b.fail(f) }

// Finish ends the game.
func (b *Board) Finish(reason replaydv1.EndReason) { b.finish(reason) }

// Read says when the state was read.
func (b *Board) Read(at time.Time) { b.read = at }

// Describe names the game.
func (b *Board) Describe(name string) error { return b.describe(&replaydv1.Replay{Name: name}, b.list) }

// Client is what a client knows of a board.
type Client struct{ know seen }

// Take appends what is new for the client to a response.
func (c *Client) Take(b *Board, response []byte, number uint32, whole bool) []byte {
	response, _ = b.append(response, number, &c.know, whole, time.Now())
	return response
}

// Watched is a game as a call watches it.
type Watched struct {
	of   *board
	know seen
}

// Join begins to watch a game.
func (b *Boards) Join(e *index.Entry, w *Wish) *Watched { return &Watched{of: b.join(nil, e, w)} }

// Leave ends it.
func (w *Watched) Leave(b *Boards) { b.leave(w.of) }

// Take returns the response with what is new of the game.
func (w *Watched) Take() []byte {
	response, _ := w.of.append(nil, 1, &w.know, false, time.Now())
	return response
}
