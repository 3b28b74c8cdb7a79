package entity

import (
	"cmp"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// Frozen holds the contents of a Store at a moment. It is immutable.
type Frozen struct {
	entities   []*Image
	own        [2][]*Image // their Index is the entity's slot
	alternates []*Image    // their Index is the entry
	baselines  []*Image    // of classes whose default states were made
	cells      int         // of all entities
}

// Freeze returns the contents of the store and the default states of classes. It reuses the images of entities that have not
// changed since the last call. classes are the present ones; ok is false when an entity is of another class.
func (s *Store) Freeze(m *Imager, classes []*Class) (f *Frozen, ok bool) {
	f = new(Frozen)
	for i, e := range s.Slots {
		if e == nil {
			continue
		}
		if int(e.Class.Id) >= len(classes) || classes[e.Class.Id] != e.Class {
			return nil, false
		}
		if e.changed || e.image == nil {
			e.image = m.Image(&e.State, About{Index: int32(i), Class: e.Class.Id, Serial: e.Serial, Active: e.Active}, e.image)
			e.changed = false
		}
		f.cells += e.image.cells
		f.entities = append(f.entities, e.image)
	}
	for slot := range s.own {
		for i, o := range s.own[slot] {
			if int(o.class.Id) >= len(classes) || classes[o.class.Id] != o.class {
				return nil, false
			}
			if o.image == nil {
				o.image = m.Image(&o.state, About{Index: i, Class: o.class.Id}, nil)
			}
			f.own[slot] = append(f.own[slot], o.image)
		}
		slices.SortFunc(f.own[slot], compareImages)
	}
	for key, st := range s.alternates.states {
		if int(key.class.Id) >= len(classes) || classes[key.class.Id] != key.class {
			return nil, false
		}
		image := s.alternates.images[key]
		if image == nil {
			image = m.Image(st, About{Index: key.entry, Class: key.class.Id}, nil)
			if s.alternates.images == nil {
				s.alternates.images = map[alternateKey]*Image{}
			}
			s.alternates.images[key] = image
		}
		f.alternates = append(f.alternates, image)
	}
	slices.SortFunc(f.alternates, compareImages)
	for _, c := range classes {
		if c == nil || !c.Baseline.Made {
			continue
		}
		if c.Baseline.image == nil {
			c.Baseline.image = m.Image(&c.Baseline.State, About{Class: c.Id}, nil)
		}
		f.baselines = append(f.baselines, c.Baseline.image)
	}
	return f, true
}

func compareImages(a, b *Image) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Class, b.Class))
}

// Thaw puts the contents of f into an empty store, and the default states into classes that are decoded.
func (s *Store) Thaw(f *Frozen, classes []*Class) {
	var slab Slab
	slab.Grow(f.cells)
	all := make([]Entity, len(f.entities))
	for i, image := range f.entities {
		e := &all[i]
		s.Slots[image.Index] = e
		e.Class, e.Serial, e.Active = classes[image.Class], image.Serial, image.Active
		if e.Decoded = e.Class.Decoded; e.Decoded {
			e.State, e.image = image.State(&slab), image
			s.Count(e)
			s.Show(int(image.Index), e.Class.Wanted)
		}
	}
	states := map[*Image]*ownState{}
	for slot := range f.own {
		for _, image := range f.own[slot] {
			c := classes[image.Class]
			if !c.Decoded {
				continue
			}
			o := states[image]
			if o == nil {
				o = &ownState{class: c, image: image, state: image.State(&slab)}
				o.held = o.state.Size()
				s.Held += o.held
				states[image] = o
			}
			if s.own[slot] == nil {
				s.own[slot] = map[int32]*ownState{}
			}
			s.own[slot][image.Index] = o
		}
	}
	for _, image := range f.alternates {
		if c := classes[image.Class]; c.Decoded {
			st := image.State(&slab)
			s.KeepAlternate(c, image.Index, &st)
		}
	}
	for _, image := range f.baselines {
		if c := classes[image.Class]; c.Decoded {
			c.Baseline = Baseline{State: image.State(&slab), image: image, Made: true}
		}
	}
}

// Parts calls each with each part.
func (f *Frozen) Parts(each func(share.Part)) {
	for _, images := range [...][]*Image{f.entities, f.own[0], f.own[1], f.alternates, f.baselines} {
		for _, image := range images {
			each(image)
		}
	}
}

// Size returns the number of bytes that f takes besides its parts.
func (f *Frozen) Size() int {
	return 8*(cap(f.entities)+cap(f.own[0])+cap(f.own[1])+cap(f.alternates)+cap(f.baselines)) + 256
}
