package index

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/replayd/replayd/replay/source"
)

// An index of a million objects takes less than a gigabyte. So entries are found by hashes: the texts are in the entries, and a map by
// text takes three times as much memory. The hashes have a seed, so that nobody can choose names or identities of one hash.
var seed = maphash.MakeSeed()

// hashOf returns the hash of a file in a root. Files of different roots are unrelated, even if they are the same file.
func hashOf(alias string, id source.ID) uint64 {
	return maphash.Comparable(seed, struct {
		alias string
		id    source.ID
	}{alias, id})
}

// at returns the last entry of a file in a root, whose name may be gone, or nil. The index must be locked.
func (x *Index) at(alias string, id source.ID) *Entry {
	if e := x.byID[hashOf(alias, id)]; e != nil && e.ID == id && root(e.Name) == alias {
		return e
	}
	return nil
}

// below returns the files below a directory in the order of their names. The index must be locked.
func (x *Index) below(dir string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		x.files.Ascend(dir+"/", func(name string, e *Entry) bool { return strings.HasPrefix(name, dir+"/") && yield(e) })
	}
}

// in is like below, without the files in directories below the directory.
func (x *Index) in(dir string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		from, more := dir+"/", true
		for more {
			more = false
			x.files.Ascend(from, func(name string, e *Entry) bool {
				file, is := strings.CutPrefix(name, dir+"/")
				if !is {
					return false
				}
				if deeper, _, is := strings.Cut(file, "/"); is { // go on behind all that is below it
					from, more = dir+"/"+deeper+string(rune('/'+1)), true
					return false
				}
				return yield(e)
			})
		}
	}
}

// lookup finds entries by a text that few of them share.
type lookup struct {
	text func(*Entry) string // empty for an entry that is not to be found
	of   map[uint64]*Entry   // by the hash of the text
	more map[uint64][]*Entry // the others of a hash, in the order in which they came
}

func newLookup(text func(*Entry) string) lookup {
	return lookup{text, map[uint64]*Entry{}, map[uint64][]*Entry{}}
}

// first returns the first entry of a text, or nil.
func (l *lookup) first(text string) *Entry {
	if e := l.of[maphash.String(seed, text)]; e != nil && l.text(e) == text {
		return e
	}
	return nil
}

// find returns the entries of a text in the order in which files came to have it.
func (l *lookup) find(text string) (list []*Entry) {
	hash := maphash.String(seed, text)
	first := l.of[hash]
	if first == nil {
		return nil
	}
	for _, e := range append([]*Entry{first}, l.more[hash]...) {
		if l.text(e) == text {
			list = append(list, e)
		}
	}
	return list
}

// replace puts an entry in the place of an earlier one of its file. Either may be nil.
func (l *lookup) replace(old, e *Entry) {
	var was, is string
	if old != nil {
		was = l.text(old)
	}
	if e != nil {
		is = l.text(e)
	}
	if was == is && is != "" {
		l.set(is, old, e)
		return
	}
	if was != "" {
		l.set(was, old, nil)
	}
	if is != "" {
		l.set(is, nil, e)
	}
}

// set replaces an entry of a text. Without an earlier one it adds the entry, and without an entry it removes the earlier one.
func (l *lookup) set(text string, old, e *Entry) {
	hash := maphash.String(seed, text)
	first, more := l.of[hash], l.more[hash]
	switch at := slices.Index(more, old); {
	case first == old && e == nil && len(more) > 0:
		l.of[hash], more = more[0], more[1:]
	case first == old && e == nil:
		delete(l.of, hash)
	case first == old:
		l.of[hash] = e
	case old == nil:
		more = append(more, e)
	case at < 0:
	case e == nil:
		more = slices.Delete(more, at, at+1)
	default:
		more[at] = e
	}
	if len(more) > 0 {
		l.more[hash] = more
	} else {
		delete(l.more, hash)
	}
}
