package datafile

import (
	"math"

	"github.com/replayd/replayd/decoders"
)

// plan holds what must be known about all items before one of them is decoded and before anything is inflated.
type plan struct {
	legacy    bool // a map from before Teeworlds 0.5, whose items have other meanings
	noVersion bool
	hasGame   bool                // the map has a game layer
	pointInts int                 // integers of an envelope point
	beziers   int                 // the item with the tangents of all points, or -1
	uuids     map[int]uuid        // by type
	first     [len(typeNames)]int // the first item of each type
	count     [len(typeNames)]int
	groupOf   []int32  // the group of each layer, or -1
	badGroups []uint64 // a bit for each group whose range of layers is invalid or overlaps
	used      []uint64 // a bit for each blob that an item's event carries
	loose     int      // number of blobs that are not used
}

// makePlan builds the plan and checks the file's requirements against the limits.
func (f *File) makePlan() error {
	p := &f.plan
	p.beziers = -1
	index := 0
	hasIndex := false
	for t := range f.NumTypes() {
		typ, count := f.Type(t)
		if typ < len(typeNames) {
			p.first[typ], p.count[typ] = index, count
		}
		if typ == typeUuidIndex {
			hasIndex = true
			p.uuids = f.readUuids(index, count)
		}
		index += count
	}
	p.noVersion = p.count[typeVersion] == 0
	p.legacy = p.noVersion && !hasIndex && f.NumItems() > 0 && !f.hasModernLayer()
	if !p.legacy {
		f.planPoints()
		f.planGroups()
	}
	return f.planData()
}

// readUuids reads the items that assign UUIDs to types. Old tools wrote some of them twice, with the same UUID.
func (f *File) readUuids(first, count int) map[int]uuid {
	uuids := map[int]uuid{}
	for i := first; i < first+count; i++ {
		item := f.Item(i)
		if u, ok := uuidOf(item.Data); ok {
			if _, taken := uuids[item.ID]; !taken {
				uuids[item.ID] = u
			}
		}
	}
	return uuids
}

// hasModernLayer reports whether a map without a version has a layer in the form used since Teeworlds 0.5.
func (f *File) hasModernLayer() bool {
	for i := range f.plan.count[typeLayer] {
		n := ints(f.Item(f.plan.first[typeLayer] + i).Data)
		if n.len() < soundLayerPrefixInts {
			continue
		}
		switch n.at(1) {
		case layerTiles, layerQuads, layerSounds, layerSoundsOriginal:
			return true
		}
	}
	return false
}

// planPoints determines how envelope points are stored. If any envelope has version 3, points include tangents.
// Otherwise there may be an item with tangents beside the points. It counts only if it has as many entries as there are
// points.
func (f *File) planPoints() {
	p := &f.plan
	p.pointInts = pointInts
	fit := f.pointsFit(pointWithBezierInts)
	for i := range p.count[typeEnvelope] {
		if n := ints(f.Item(p.first[typeEnvelope] + i).Data); fit && n.get(0, 0) >= 3 {
			p.pointInts = pointWithBezierInts
			return
		}
	}
	if p.count[typePoints] != 1 {
		return
	}
	points := ints(f.Item(p.first[typePoints]).Data).len() / pointInts
	index := 0
	for t := range f.NumTypes() {
		typ, count := f.Type(t)
		if p.uuids[typ] == uuidBeziers && count > 0 && ints(f.Item(index).Data).len() == points*bezierInts {
			p.beziers = index
			return
		}
		index += count
	}
}

// pointsFit reports whether envelope points of size integers fill their items exactly.
func (f *File) pointsFit(size int) bool {
	for i := range f.plan.count[typePoints] {
		if ints(f.Item(f.plan.first[typePoints]+i).Data).len()%size != 0 {
			return false
		}
	}
	return true
}

// planGroups finds the group of each layer. A layer in the ranges of two groups belongs to the first.
func (f *File) planGroups() {
	p := &f.plan
	layers := p.count[typeLayer]
	p.groupOf = make([]int32, layers)
	p.badGroups = make([]uint64, (p.count[typeGroup]+63)/64)
	// next[l] leads to the first layer at or after l without a group. With it, all groups together take linear time.
	next := make([]int32, layers+1)
	for l := range next {
		next[l] = int32(l)
	}
	find := func(l int32) int32 {
		for next[l] != l {
			next[l] = next[next[l]]
			l = next[l]
		}
		return l
	}
	for l := range p.groupOf {
		p.groupOf[l] = -1
	}
	for g := range p.count[typeGroup] {
		n := ints(f.Item(p.first[typeGroup] + g).Data)
		if n.len() < 7 {
			continue
		}
		start, num := int64(n.at(5)), int64(n.at(6))
		from, to := max(start, 0), min(start+num, int64(layers))
		claimed := int64(0)
		if from < to {
			for l := find(int32(from)); int64(l) < to; l = find(l) {
				p.groupOf[l] = int32(g)
				next[l] = l + 1
				claimed++
			}
		}
		if claimed != num {
			p.badGroups[g/64] |= 1 << (g % 64)
		}
	}
}

// planData determines which blobs the items' events carry. It refuses files that are too expensive to inflate, before
// it inflates anything.
func (f *File) planData() error {
	p := &f.plan
	p.used = make([]uint64, (f.NumData()+63)/64)
	references := make([]uint16, f.NumData())
	var total int64
	for i := range f.NumItems() {
		l := f.layoutOf(i)
		refer := func(blob int32) error {
			references[blob]++
			if int(references[blob]) > min(f.limits.References, math.MaxUint16-1) {
				return failure(f.itemAt(i), "item", decoders.ErrLimit, "more than %d items refer to blob %d",
					f.limits.References, blob)
			}
			p.used[blob/64] |= 1 << (blob % 64)
			total += f.DataSize(int(blob))
			return nil
		}
		for _, text := range l.text[:l.texts] {
			if f.isText(text) {
				if err := refer(text); err != nil {
					return err
				}
			}
		}
		if l.data >= 0 {
			if err := refer(l.data); err != nil {
				return err
			}
		}
		if l.kind == KindTileLayer {
			p.hasGame = p.hasGame || l.tiles == LayerKindGame
			if size := l.tileBytes(); size > f.limits.Blob {
				return failure(f.itemAt(i), "layer", decoders.ErrLimit, "%d x %d tiles of %d bytes, of which %d are allowed",
					l.width, l.height, l.stride, f.limits.Blob)
			} else if l.skips {
				total += size
			}
		}
		if total > f.limits.Inflated {
			return failure(f.itemAt(i), "item", decoders.ErrLimit, "items refer to more than %d bytes", f.limits.Inflated)
		}
	}
	for i := range f.NumData() {
		if !f.isUsed(i) {
			p.loose++
			total += f.DataSize(i)
		}
	}
	if total > f.limits.Inflated {
		return failure(f.dataAt, "data", decoders.ErrLimit, "inflates to more than %d bytes", f.limits.Inflated)
	}
	return nil
}

// isText reports whether a blob is small enough to be delivered as a text.
func (f *File) isText(blob int32) bool {
	return blob >= 0 && int(blob) < f.NumData() && f.DataSize(int(blob)) <= maxText
}

// isUsed reports whether an event of an item carries the blob.
func (f *File) isUsed(blob int) bool { return f.plan.used[blob/64]&(1<<(blob%64)) != 0 }

// LayerInGroup returns the index of a layer among the layers of its group, or -1 if it has no group. layer is the
// layer's index over all groups.
func (f *File) LayerInGroup(layer int32) int32 {
	if layer < 0 || int(layer) >= len(f.plan.groupOf) || f.plan.groupOf[layer] < 0 {
		return -1
	}
	group := ints(f.Item(f.plan.first[typeGroup] + int(f.plan.groupOf[layer])).Data)
	return layer - group.at(5)
}

// layerOf is the inverse of LayerInGroup. It returns the index over all groups, or -1 if there is no such layer.
func (f *File) layerOf(group, inGroup int32) int32 {
	first := f.plan.first[typeGroup]
	if group < 0 || int(group) >= f.plan.count[typeGroup] || inGroup < 0 {
		return -1
	}
	layer := int64(ints(f.Item(first+int(group)).Data).get(5, -1)) + int64(inGroup)
	if layer < 0 || layer >= int64(len(f.plan.groupOf)) || f.plan.groupOf[layer] != group {
		return -1
	}
	return int32(layer)
}

// ordinal returns the index of item i among the items of its type.
func (f *File) ordinal(i, typ int) int32 { return int32(i - f.plan.first[typ]) }
