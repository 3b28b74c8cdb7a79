package entity

import (
	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/fieldpath"
)

// follow reads a list of paths at r and fills u.nodes with the nodes to which they lead. It returns false if they cannot be read, or if one of
// the nodes was not met before or is not fixed: readPaths and readValues do then what is to be done. Most operations lead to a later field of the
// same object, so the list of paths need not be made first.
func (u *Update) follow(r *bits.Reader, c *Class) bool {
	const word = 57             // bits that Peek returns
	const code, number = 17, 35 // the most bits of an operation's code, and of a number behind it
	if c.Root == nil {
		return false
	}
	nodes := u.nodes[:0]
	var way [fieldpath.MaxDepth]*Node // the nodes above the index at each depth
	p := fieldpath.Path{Idx: [fieldpath.MaxDepth]int32{-1}}
	way[0] = c.Root
	kids, top := c.Root.Kids, int32(-1) // those below the last of way, and the index among them
	w, left := r.Peek(), word
	for {
		if left < code {
			r.Skip(word - left)
			w, left = r.Peek(), word
		}
		a := fieldpath.Next(w)
		w >>= a.Length
		left -= int(a.Length)
		for ; a.Count > 0; a.Count-- {
			top += int32(a.Steps&3) + 1
			a.Steps >>= 2
			n := at(kids, int(top))
			if n == nil || !n.fixed {
				return false
			}
			nodes = append(nodes, n)
		}
		if a.Op == fieldpath.Finish {
			r.Skip(word - left)
			u.nodes = nodes
			return !r.Overrun() && len(nodes) <= fieldpath.MaxPaths
		}
		if left < number {
			r.Skip(word - left)
			w, left = r.Peek(), word
		}
		right := int32(-1) // the index below top, if the path becomes longer
		switch a.Op {
		case 0, 1, 2, 3: // PlusOne to PlusFour
			top += int32(a.Op) + 1
		case 4: // PlusN
			v, n := fieldpath.Number(w)
			top += v + 5
			w >>= n
			left -= n
		case 5, 7: // PushOneLeftDeltaZeroRightZero, PushOneLeftDeltaOneRightZero
			top += (int32(a.Op) - 5) >> 1
			right = 0
		case 6, 8: // PushOneLeftDeltaZeroRightNonZero, PushOneLeftDeltaOneRightNonZero
			v, n := fieldpath.Number(w)
			top += (int32(a.Op) - 6) >> 1
			right = v
			w >>= n
			left -= n
		case 11: // PushOneLeftDeltaNRightNonZeroPack6Bits
			top += int32(w&7) + 2
			right = int32(w>>3&7) + 1
			w >>= 6
			left -= 6
		case 29: // PopAllButOnePlusOne
			if p.Last > 0 {
				p.Last, kids, top = 0, c.Root.Kids, p.Idx[0]
			}
			top++
		default:
			r.Skip(word - left)
			p.Idx[p.Last] = top
			if !p.Apply(r, a.Op) {
				return false
			}
			w, left = r.Peek(), word
			for d := range p.Last {
				n := at(way[d].Kids, int(p.Idx[d]))
				if n == nil || n.many {
					return false
				}
				way[d+1] = n
			}
			kids, top = way[p.Last].Kids, p.Idx[p.Last]
		}
		n := at(kids, int(top))
		if right >= 0 && n != nil {
			if n.many || p.Last+1 == fieldpath.MaxDepth {
				return false
			}
			p.Idx[p.Last] = top
			p.Last++
			way[p.Last], kids, top = n, n.Kids, right
			n = at(kids, int(top))
		}
		if n == nil || !n.fixed {
			return false
		}
		nodes = append(nodes, n)
	}
}
