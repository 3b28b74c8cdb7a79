package sc2replay

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// plan decodes values of one layout into one Go struct. It is the layout with every field bound to its destination in
// the struct. Fields are bound by name: the table's abilCmdIndex goes to the Go field AbilCmdIndex. The lists below
// name the exceptions. A plan is made once per layout, and all decoders share it.
type plan struct {
	node
	clear []region // the parts of the struct to clear before it is filled
}

// node is a value of the layout and its destination. Destinations are offsets in the struct of the nearest enclosing
// list element, or else in the plan's struct.
type node struct {
	kind     protocol.Kind
	optional bool
	bits     uint8
	store    store
	add      int64     // added to an integer or a length, in the bit-packed encoding
	dst      uintptr   // destination of the value
	has      []uintptr // the bools to set when the value is present
	scale    float32   // of storeFloat
	minBits  int       // of a list's element
	elem     *node     // of a list
	slice    *sliceOf  // of a list
	fields   []node    // of a struct or choice
	tags     []int8    // of a struct: a tag's index in fields, or -1
	tag      int       // of a choice's alternative
	number   uint8     // value of the choice's case field

	skip *protocol.Type // of a field without a destination
}

// store is the kind of the destination field.
type store uint8

const (
	storeNothing store = iota
	storeUint32
	storeInt32
	storeUint64
	storeInt64
	storeFloat
	storeEnum // an int32 whose values are one higher than the table's, because 0 is "unspecified"
	storeBool
	storeBytes
	storeMask
	storeCase // uint8
)

// renamed lists fields with another name in the Go structs, as "GoStruct.tableField". The value is the path to the
// destination. "*" stands for any struct.
var renamed = map[string]string{
	"*.unitTagIndex": "Unit.Index", "*.unitTagRecycle": "Unit.Recycle", "*.unitTypeName": "Unit.TypeName",
	"*.creatorUnitTagIndex": "Creator.Index", "*.creatorUnitTagRecycle": "Creator.Recycle",
	"*.killerUnitTagIndex": "Killer.Index", "*.killerUnitTagRecycle": "Killer.Recycle",
	"Ability.abilLink": "Link", "Ability.abilCmdIndex": "CommandIndex", "Ability.abilCmdData": "CommandData",
	"TargetUnit.tag": "Unit", "TargetUnit.snapshotPlayerId": "SnapshotControlPlayerId",
	"Chat.string": "Text", "UnitClick.unitTag": "Unit", "UnitHighlight.unitTag": "Unit",
	"Start.fixedFileHash":                      "ReplayCompatibilityHash",
	"AiCommunicate.targetUnitTag":              "TargetUnit",
	"AiCommunicate.targetUnitSnapshotPlayerId": "TargetUnitSnapshotControlPlayerId",
	// In Cmd of 1.0, these fields are not nested.
	"Cmd.abilLink": "Abil.Link", "Cmd.abilCmdIndex": "Abil.CommandIndex", "Cmd.abilCmdData": "Abil.CommandData",
	"Cmd.targetUnitFlags": "TargetUnit.TargetUnitFlags", "Cmd.targetUnitTimer": "TargetUnit.Timer",
	"Cmd.targetUnitTag":              "TargetUnit.Unit",
	"Cmd.targetUnitSnapshotUnitLink": "TargetUnit.SnapshotUnitLink",
	"Cmd.targetUnitSnapshotPlayerId": "TargetUnit.SnapshotControlPlayerId",
}

// oneofs maps the table's choices to the Go oneofs. Before 1.1, a single mask was in the place of each choice of masks.
// It goes to the first alternative.
var oneofs = map[string]string{
	"Cmd.data": "Target", "SelectionDelta.removeMask": "RemoveMask", "ControlGroupUpdate.mask": "RemoveMask",
}

// scales lists structs whose fractions do not have the unit 1/4096.
var scales = map[string]float32{"CameraUpdate": 1.0 / 256, "CameraSave": 1.0 / 256}

const defaultScale = 1.0 / 4096

// newPlan binds a layout to a struct type. Fields without a destination are read and left out: an operator's table may have
// fields that are newer than the structs. A test checks that the embedded tables have none.
func newPlan(t *protocol.Type, into reflect.Type) (*plan, error) {
	b := binder{scale: defaultScale}
	if s, ok := scales[into.Name()]; ok {
		b.scale = s
	}
	n, err := b.bind(t, into, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", into.Name(), err)
	}
	return &plan{node: n, clear: regions(into)}, nil
}

type binder struct{ scale float32 }

// bind binds a value to a Go value of the given type at offset dst.
func (b *binder) bind(t *protocol.Type, into reflect.Type, dst uintptr, has []uintptr) (node, error) {
	n := node{kind: t.Kind, bits: t.Bits, add: t.Offset, dst: dst, has: has, scale: b.scale}
	switch t.Kind {
	case protocol.Optional:
		inner, err := b.bind(t.Elem, into, dst, has)
		if inner.optional {
			return n, fmt.Errorf("optional of an optional")
		}
		inner.optional = true
		return inner, err
	case protocol.Null:
		return n, nil
	case protocol.Array:
		return b.bindArray(n, t, into)
	case protocol.Struct:
		if into.Kind() != reflect.Struct || into == maskType {
			if len(t.Fields) == 1 {
				return b.bindSingle(t, into, dst, has)
			}
			return n, fmt.Errorf("%v does not go into %v", t, into)
		}
		return b.bindStruct(n, t, into)
	case protocol.BitArray:
		if into == maskType {
			n.store = storeMask
			return n, nil
		}
	case protocol.Blob, protocol.FourCC:
		if into == bytesType {
			n.store = storeBytes
			return n, nil
		}
	case protocol.Int, protocol.Bool:
		if into == unitType { // a unit's tag
			f, _ := into.FieldByName("Tag")
			return b.bind(t, f.Type, dst+f.Offset, has)
		}
		if n.store = storeOf(into); n.store != storeNothing && (t.Kind == protocol.Int || n.store == storeBool) {
			return n, nil
		}
	}
	return n, fmt.Errorf("%v does not go into %v", t, into)
}

var (
	maskType  = reflect.TypeFor[BitMask]()
	unitType  = reflect.TypeFor[Unit]()
	bytesType = reflect.TypeFor[[]byte]()
)

// storeOf returns the kind of store for a number in a Go type.
func storeOf(t reflect.Type) store {
	switch t.Kind() {
	case reflect.Uint32:
		return storeUint32
	case reflect.Int32:
		if t.PkgPath() != "" {
			return storeEnum
		}
		return storeInt32
	case reflect.Uint64:
		return storeUint64
	case reflect.Int64:
		return storeInt64
	case reflect.Float32:
		return storeFloat
	case reflect.Bool:
		return storeBool
	case reflect.Uint8:
		return storeCase
	}
	return storeNothing
}

// bindSingle binds a struct with one field to the destination of that field.
func (b *binder) bindSingle(t *protocol.Type, into reflect.Type, dst uintptr, has []uintptr) (node, error) {
	inner, err := b.bind(t.Fields[0].Type, into, dst, has)
	inner.tag = 0
	if t.Fields[0].Tag != protocol.NoTag {
		return inner, fmt.Errorf("struct of one field in the versioned encoding")
	}
	return inner, err
}

// bindStruct binds each field of a struct.
func (b *binder) bindStruct(n node, t *protocol.Type, into reflect.Type) (node, error) {
	for _, f := range t.Fields {
		field, err := b.bindField(f, into, n.dst)
		if errors.Is(err, errNoPlace) {
			field, err = node{skip: f.Type}, nil
		}
		if err != nil {
			return n, fmt.Errorf("%s: %w", f.Name, err)
		}
		if f.Tag != protocol.NoTag {
			for len(n.tags) <= f.Tag {
				n.tags = append(n.tags, -1)
			}
			n.tags[f.Tag] = int8(len(n.fields))
		}
		n.fields = append(n.fields, field)
	}
	return n, nil
}

// errNoPlace is the error for a field without a destination.
var errNoPlace = errors.New("no such field")

// bindField binds a field to its destination in a struct that begins at offset base.
func (b *binder) bindField(f protocol.Field, into reflect.Type, base uintptr) (node, error) {
	if oneof, ok := oneofs[into.Name()+"."+f.Name]; ok {
		return b.bindChoice(f.Type, into, base, oneof)
	}
	path, ok := renamed[into.Name()+"."+f.Name]
	if !ok {
		path, ok = renamed["*."+f.Name]
	}
	if !ok {
		path = strings.TrimPrefix(f.Name, "scoreValue")
	}
	var has []uintptr
	var place reflect.StructField
	at, in := base, into
	for step := range strings.SplitSeq(path, ".") {
		place, ok = fieldNamed(in, step)
		if !ok {
			if f.Type.Kind == protocol.Struct {
				// The Go struct has no such struct, so its fields belong to the enclosing one.
				return b.bind(f.Type, into, base, nil)
			}
			return node{}, errNoPlace
		}
		if flag, ok := in.FieldByName("Has" + place.Name); ok {
			has = append(has, at+flag.Offset)
		}
		at, in = at+place.Offset, place.Type
	}
	return b.bind(f.Type, in, at, has)
}

// fieldNamed returns the Go field for a name in the table. Case is ignored: posUI is PosUi.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	return t.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
}

// bindChoice binds a choice to a oneof: the case field, followed by the alternatives' fields in order.
func (b *binder) bindChoice(t *protocol.Type, into reflect.Type, base uintptr, oneof string) (node, error) {
	which, ok := into.FieldByName(oneof + "Case")
	if !ok {
		return node{}, fmt.Errorf("%v has no oneof %s", into, oneof)
	}
	alternative := func(place reflect.StructField, t *protocol.Type) (node, error) {
		alt, err := b.bind(t, place.Type, base+place.Offset, nil)
		alt.number = uint8(place.Index[0] - which.Index[0])
		return alt, err
	}
	n := node{kind: protocol.Choice, bits: t.Bits, add: t.Offset, dst: base + which.Offset, store: storeCase}
	if t.Kind != protocol.Choice {
		first := into.Field(which.Index[0] + 1)
		alt, err := alternative(first, t)
		optional := alt.optional
		alt.optional = false
		n.fields, n.optional, n.bits, n.add = []node{alt}, optional, 0, 0
		return n, err
	}
	for _, f := range t.Fields {
		if f.Type.Kind == protocol.Null {
			n.fields = append(n.fields, node{kind: protocol.Null, tag: f.Tag})
			continue
		}
		place, ok := fieldNamed(into, f.Name)
		if !ok {
			return n, fmt.Errorf("%v has no alternative %s", into, f.Name)
		}
		alt, err := alternative(place, f.Type)
		if err != nil {
			return n, fmt.Errorf("%s: %w", f.Name, err)
		}
		alt.tag = f.Tag
		n.fields = append(n.fields, alt)
	}
	return n, nil
}

// bindArray binds a list to a slice, or to a struct whose only field is a slice.
func (b *binder) bindArray(n node, t *protocol.Type, into reflect.Type) (node, error) {
	if into.Kind() == reflect.Struct && into.NumField() == 1 {
		return b.bindArray(n, t, into.Field(0).Type)
	}
	if into.Kind() != reflect.Slice {
		return n, fmt.Errorf("%v does not go into %v", t, into)
	}
	elem := into.Elem()
	if into == bytesType { // small numbers as bytes
		if t.Elem.Kind != protocol.Int || t.Elem.Bits != 8 {
			return n, fmt.Errorf("%v does not go into bytes", t)
		}
		n.elem = &node{kind: protocol.Int, bits: 8, store: storeCase}
	} else {
		inner, err := b.bind(t.Elem, elem, 0, nil)
		if err != nil {
			return n, err
		}
		n.elem = &inner
	}
	n.minBits = max(minBits(t.Elem), 1)
	n.slice = &sliceOf{typ: into, size: elem.Size(), clear: regions(elem)}
	return n, nil
}

// minBits returns the smallest number of bits of a value in the bit-packed encoding.
func minBits(t *protocol.Type) int {
	switch t.Kind {
	case protocol.Int:
		return int(t.Bits)
	case protocol.Bool, protocol.Optional:
		return 1
	case protocol.FourCC:
		return 32
	case protocol.Blob:
		return int(t.Bits) + 8*int(t.Offset)
	case protocol.BitArray, protocol.Array, protocol.Choice:
		return int(t.Bits)
	case protocol.Struct:
		sum := 0
		for _, f := range t.Fields {
			sum += minBits(f.Type)
		}
		return sum
	}
	return 0
}
