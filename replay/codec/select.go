package codec

import (
	"encoding/binary"

	"github.com/replayd/replayd/replay/filter"
)

// Selector selects the events of one follower from batches that a Reader which delivers all has filled. It needs no struct of an event,
// only its wire bytes. A Selector belongs to one goroutine. An entry is an event's bytes in Batch.Events.
type Selector interface {
	// From is called before events of another batch, whose events refer to names.
	From(names *Names)
	// Match reports whether an event is delivered, and returns its entry without the parts that are not. The entry is valid until the
	// next call.
	Match(e *filter.Event, entry []byte) (part []byte, ok bool)
	// Append appends what Match returned to b, and to its Tail the names that b lacks. Nobody else may have appended to b.
	Append(b *Batch, e *filter.Event, entry []byte)
}

// Clocked is a Reader of a format whose header does not have the speed of the clock.
type Clocked interface {
	// TicksPerSecond returns the speed, 0 while it is not known.
	TicksPerSecond() float64
}

// Naming numbers the names in the tails of a Reader's batches, so that a follower that meets a name again knows it by its number.
type Naming struct {
	numbers map[string]uint32
	texts   []string // only appended to, so that Names can keep it
}

// Names holds the names to which the events of one batch refer. It is immutable.
type Names struct {
	numbers []uint32 // by index in the batch
	texts   []string // by number
}

// Read returns the names in a batch's Tail, which holds nothing but a field of strings.
func (n *Naming) Read(tail []byte) *Names {
	if n.numbers == nil {
		n.numbers = map[string]uint32{}
	}
	var of []uint32
	for len(tail) > 0 {
		length, k := binary.Uvarint(tail[1:])
		name := tail[1+k:][:length]
		tail = tail[1+k+int(length):]
		number, known := n.numbers[string(name)]
		if !known {
			number = uint32(len(n.texts))
			n.texts = append(n.texts, string(name))
			n.numbers[n.texts[number]] = number
		}
		of = append(of, number)
	}
	return &Names{of, n.texts}
}

// Number returns the number of a name that the batch has at an index. All batches of a Naming have the same one.
func (n *Names) Number(index uint32) uint32 { return n.numbers[index] }

// Name returns the name with a number.
func (n *Names) Name(number uint32) string { return n.texts[number] }

// At returns the name at an index.
func (n *Names) At(index uint32) string { return n.texts[n.numbers[index]] }

// Held returns how much memory the Names hold that others do not, in bytes.
func (n *Names) Held() int { return 4 * cap(n.numbers) }
