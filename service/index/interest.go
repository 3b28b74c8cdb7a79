package index

// Interest is a subscription to some of the files. It fires when a file is added, replaced or removed, and when it is
// identified or surveyed for the first time. It does not fire when a file only grew.
type Interest struct {
	// C receives when a file may have changed. It holds one value from the start, and never more than one.
	C <-chan struct{}

	c      chan struct{}
	keys   []string
	family Family
}

// Interest subscribes to the files in a directory. If identity is not empty, it also subscribes to the replays that name
// that replay as the one before, in any directory. Only files of the family count.
func (f Family) Interest(dir, identity string) *Interest {
	x, c := f.x, make(chan struct{}, 1)
	i := &Interest{C: c, c: c, keys: []string{"in " + dir}, family: f}
	if identity != "" {
		i.keys = append(i.keys, "after "+identity)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, key := range i.keys {
		if x.interests[key] == nil {
			x.interests[key] = map[*Interest]struct{}{}
		}
		x.interests[key][i] = struct{}{}
	}
	i.fire()
	return i
}

// Close ends the interest.
func (i *Interest) Close() {
	x := i.family.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, key := range i.keys {
		delete(x.interests[key], i)
		if len(x.interests[key]) == 0 {
			delete(x.interests, key)
		}
	}
}

func (i *Interest) fire() {
	select {
	case i.c <- struct{}{}:
	default:
	}
}

// notify fires the interests that cover a file. The index must be locked.
func (x *Index) notify(e *Entry) {
	if e == nil || len(x.interests) == 0 {
		return
	}
	x.tellOf("in "+dirOf(e.Name), e)
	if e.Previous != "" {
		x.tellOf("after "+e.Previous, e)
	}
}

func (x *Index) tellOf(key string, e *Entry) {
	for i := range x.interests[key] {
		if i.family.Has(e.Name) {
			i.fire()
		}
	}
}
