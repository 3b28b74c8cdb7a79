package record

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

// Place is the place of a Reader between two records.
type Place struct {
	Header  FileHeader
	Head    Head         // of the previous record
	Offset  int64        // of the next record
	Sum     decoders.Sum // of the bytes before the next record
	signOn  SignOn
	some    bool
	stopped bool
}

// Place returns the place of the reader. ok is false if a reader cannot continue there, because nothing was read yet, the end was
// read, or the place of the next record is not known.
func (r *Reader) Place() (p Place, ok bool) {
	if !r.Begun || !r.some || r.Finished || r.Err != nil || r.resync != (resync{}) {
		return Place{}, false
	}
	sum := r.SumBehind()
	return Place{r.Header, r.Head, r.Win.Offset(), sum, r.signOn, r.some, r.Stopped}, true
}

// ReaderAt returns a reader that continues at a place. src reads the file from the place's Offset on.
func ReaderAt(src io.Reader, p Place) Reader {
	win := decoders.NewWindow(src, p.Offset, MaxSize+64)
	win.Resume(p.Sum)
	return Reader{Win: win, Header: p.Header, Begun: true, signOn: p.signOn, Head: p.Head, some: p.some, summed: true, Stopped: p.stopped}
}
