package teehistorian_test

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// writer writes files as a server does. It is an independent model, based on docs/formats/teehistorian.md, "Ticks". It
// shares only the names of things with the decoder.
type writer struct {
	b []byte

	tick    int32 // of the next records
	written int32 // the last tick that the file implies
	marked  bool  // the file implies that tick has begun
	highest int32 // highest client id of a PLAYER record in the tick that was written last, -1 for none
	current int32 // highest client id of a PLAYER record in this tick, -1 for none
}

const magicUUID = "699db17b-8efb-34ff-b1d8-da6f60c15dd1"

// newWriter starts a file inside tick 0.
func newWriter(header string) *writer {
	w := &writer{marked: true, highest: math.MaxInt32, current: math.MaxInt32}
	w.uuid(magicUUID)
	w.b = append(append(w.b, header...), 0)
	return w
}

const simpleHeader = `{"version":"2","version_minor":"22","game_uuid":"01020304-0506-4708-890a-0b0c0d0e0f10",` +
	`"map_name":"dm1","uuids":["teehistorian-mod@example.org"]}`

// oldHeader is of a server that does not write a JOIN for each client.
const oldHeader = `{"version":"2","version_minor":"14","game_uuid":"01020304-0506-4708-890a-0b0c0d0e0f10","map_name":"dm1"}`

// int appends an integer in the shortest way, bit by bit.
func (w *writer) int(values ...int32) {
	for _, v := range values {
		sign := byte(0)
		if v < 0 {
			v, sign = ^v, 0x40
		}
		b := sign | byte(v&0x3f)
		for v >>= 6; v > 0; v >>= 7 {
			w.b = append(w.b, b|0x80)
			b = byte(v & 0x7f)
		}
		w.b = append(w.b, b)
	}
}

func (w *writer) text(values ...string) {
	for _, v := range values {
		w.b = append(append(w.b, v...), 0)
	}
}

// uuid appends a UUID that is given in text form.
func (w *writer) uuid(s string) {
	s = strings.ReplaceAll(s, "-", "")
	for ; s != ""; s = s[16:] {
		var v uint64
		for _, c := range []byte(s[:16]) {
			v = v<<4 | uint64(strings.IndexByte("0123456789abcdef", c))
		}
		w.b = binary.BigEndian.AppendUint64(w.b, v)
	}
}

// data appends the output of f, preceded by its length.
func (w *writer) data(f func(*writer)) {
	inner := &writer{}
	f(inner)
	w.int(int32(len(inner.b)))
	w.b = append(w.b, inner.b...)
}

// begin starts a tick. It writes nothing yet.
func (w *writer) begin(tick int32) {
	if w.marked {
		w.highest = w.current
	}
	w.tick, w.marked, w.current = tick, tick == w.written, -1
}

// player starts a PLAYER record. Its id implies the tick if possible.
func (w *writer) player(id int32) {
	if !w.marked && (w.tick != w.written+1 || id > w.highest) {
		w.skip()
	}
	w.marked, w.written = true, w.tick
	w.current = max(w.current, id)
}

// other starts a record of any other kind.
func (w *writer) other() {
	if !w.marked {
		w.skip()
	}
}

func (w *writer) skip() {
	w.int(-2, w.tick-w.written-1)
	w.marked, w.written = true, w.tick
}

func (w *writer) playerDiff(id, dx, dy int32) { w.player(id); w.int(id, dx, dy) }
func (w *writer) playerNew(id, x, y int32)    { w.player(id); w.int(-3, id, x, y) }
func (w *writer) playerOld(id int32)          { w.player(id); w.int(-4, id) }
func (w *writer) join(id int32)               { w.other(); w.int(-8, id) }
func (w *writer) finish()                     { w.other(); w.int(-1) }

func (w *writer) input(record, id int32, v [10]int32) {
	w.other()
	w.int(record, id)
	w.int(v[:]...)
}

func (w *writer) message(id int32, f func(*writer)) {
	w.other()
	w.int(-7, id)
	w.data(f)
}

func (w *writer) drop(id int32, reason string) {
	w.other()
	w.int(-9, id)
	w.text(reason)
}

func (w *writer) command(id, flags int32, command string, arguments ...string) {
	w.other()
	w.int(-10, id, flags)
	w.text(command)
	w.int(int32(len(arguments)))
	w.text(arguments...)
}

func (w *writer) ex(name string, f func(*writer)) {
	w.other()
	w.int(-11)
	w.uuid(teehistorian.NameUUID(name).String())
	w.data(f)
}

// file returns a file with the records that f writes after the header.
func file(f func(*writer)) []byte {
	w := newWriter(simpleHeader)
	f(w)
	return w.b
}

// oldFile is file with oldHeader.
func oldFile(f func(*writer)) []byte {
	w := newWriter(oldHeader)
	f(w)
	return w.b
}
