package fieldpath

// code is a resolved Huffman code: an operation, and the length of its code in bits. A length of 0 means no code.
type code struct {
	op, length uint8
}

// tableBits is the number of bits that one look-up resolves, and longBits how many more a second one resolves. Nearly all operations have codes
// of at most tableBits, and a larger table would not stay in the first-level cache.
const (
	tableBits = 10
	longBits  = 7
)

// table resolves the next tableBits bits. All longer codes begin with the same tableBits bits; longCodes resolves the bits behind these.
var (
	table     [1 << tableBits]code
	longCodes [1 << longBits]code
)

// weights are the weights of the 40 operations, by number, from which the game builds its Huffman tree.
var weights = [40]int{
	36271, 10334, 1375, 646, 4128, 35, 3, 521, 2942, 560, 471, 10530, 251, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 310, 2, 0, 1837, 149, 300, 634, 0, 0, 1, 76, 271, 99, 25474,
}

// Ahead are operations that the next bits hold: up to four steps to a later index, each of 1 to 4 indices, and then one of any kind.
type Ahead struct {
	Op, Length uint8 // the last operation, and the length of the codes of all
	Count      uint8 // of the steps before Op
	Steps      uint8 // two bits for each, the first lowest: how many indices it leaves out
}

var ahead [1 << tableBits]Ahead

// Next returns the operations that the lowest bits of w hold, at least the next one's code.
func Next(w uint64) Ahead {
	a := ahead[w&(1<<tableBits-1)]
	if a.Length == 0 {
		c := longCodes[w>>tableBits&(1<<longBits-1)]
		a.Op, a.Length = c.op, c.length
	}
	return a
}

func init() {
	for op, c := range buildCodes(weights[:]) {
		to, bits, length := table[:], c.bits, c.length
		if length > tableBits {
			to, bits, length = longCodes[:], bits>>tableBits, length-tableBits
		}
		for i := int(bits); i < len(to); i += 1 << length {
			to[i] = code{uint8(op), uint8(c.length)}
		}
	}
	for i, c := range table {
		a := Ahead{Op: c.op, Length: c.length}
		for a.Length > 0 && a.Op < 4 && a.Count < 4 {
			next := table[i>>a.Length]
			if next.length == 0 || a.Length+next.length > tableBits {
				break
			}
			a.Steps |= a.Op << (2 * a.Count)
			a.Op, a.Length, a.Count = next.op, a.Length+next.length, a.Count+1
		}
		ahead[i] = a
	}
}

// huffmanCode is a code of some bits, the first one lowest.
type huffmanCode struct {
	bits   uint32
	length int
}

// buildCodes makes the Huffman codes of weighted leaves. Of two nodes of the same weight the later one comes first, and
// the first of the two smallest nodes becomes the branch of the bit 0 (docs/formats/dem.md, The codes).
func buildCodes(weights []int) []huffmanCode {
	type node struct{ weight, left, right int }
	nodes := make([]node, len(weights), 2*len(weights))
	open := make([]int, len(weights))
	for i, w := range weights {
		nodes[i] = node{max(w, 1), -1, -1}
		open[i] = i
	}
	smallest := func() int {
		best := 0
		for i, n := range open {
			w, b := nodes[n].weight, nodes[open[best]].weight
			if w < b || w == b && n > open[best] {
				best = i
			}
		}
		n := open[best]
		open = append(open[:best], open[best+1:]...)
		return n
	}
	for len(open) > 1 {
		left := smallest()
		right := smallest()
		nodes = append(nodes, node{nodes[left].weight + nodes[right].weight, left, right})
		open = append(open, len(nodes)-1)
	}
	codes := make([]huffmanCode, len(weights))
	var walk func(n int, c huffmanCode)
	walk = func(n int, c huffmanCode) {
		if nodes[n].left < 0 {
			codes[n] = c
			return
		}
		walk(nodes[n].left, huffmanCode{c.bits, c.length + 1})
		walk(nodes[n].right, huffmanCode{c.bits | 1<<c.length, c.length + 1})
	}
	walk(len(nodes)-1, huffmanCode{})
	return codes
}
