package datafile

// The numbers of the item types that all files share.
const (
	typeVersion   = 0
	typeInfo      = 1
	typeImage     = 2
	typeEnvelope  = 3
	typeGroup     = 4
	typeLayer     = 5
	typePoints    = 6
	typeSound     = 7
	typeUuidFirst = 0x8001 // the smallest number of a type with a UUID
	typeUuidLast  = 0xfffe // the largest one
	typeUuidIndex = 0xffff // items that assign UUIDs to types
)

var typeNames = [...]string{
	typeVersion:  "version",
	typeInfo:     "info",
	typeImage:    "image",
	typeEnvelope: "envelope",
	typeGroup:    "group",
	typeLayer:    "layer",
	typePoints:   "envelope_points",
	typeSound:    "sound",
}

// TypeName returns the name and the UUID of an item type of this file. Either is "" if there is none. In maps from
// before Teeworlds 0.5, types have no names.
func (f *File) TypeName(typ int) (name, uuidText string) {
	switch {
	case f.plan.legacy:
		return "", ""
	case typ < len(typeNames):
		return typeNames[typ], ""
	case typ == typeUuidIndex:
		return "uuid_index", ""
	}
	if u, ok := f.plan.uuids[typ]; ok {
		return uuidNames[u], string(u.appendText(nil))
	}
	return "", ""
}

// typeName returns a type's name and UUID, both in d.texts.
func (d *Decoder) typeName(typ int) (name, uuid []byte) {
	f := d.file
	if f.plan.legacy {
		return nil, nil
	}
	start := len(d.texts)
	if u, ok := f.plan.uuids[typ]; ok && typ >= typeUuidFirst && typ <= typeUuidLast {
		d.texts = append(d.texts, uuidNames[u]...)
		middle := len(d.texts)
		d.texts = u.appendText(d.texts)
		return d.texts[start:middle:middle], d.texts[middle:]
	}
	n, _ := f.TypeName(typ)
	d.texts = append(d.texts, n...)
	return d.texts[start:], nil
}
