package sc2replay

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// A plan says how the value of one layout gets into one Go struct: it is the layout with every field bound to the place in
// the struct where its value goes. Layouts are bound by name: the table's abilCmdIndex finds the Go field AbilCmdIndex.
// What differs between the two is in the lists below. A plan is made once per layout and shared by all decoders.
type plan struct {
	node
	clear []region // what is cleared before the struct is filled anew
}

// node is a value of the layout and where it goes. Places are offsets in the struct of the nearest enclosing list element,
// or in the plan's.
type node struct {
	kind     protocol.Kind
	optional bool
	bits     uint8
	store    store
	add      int64     // to an integer or a length, in the bit-packed encoding
	dst      uintptr   // where the value goes
	has      []uintptr // the bools that become true when the value is there
	scale    float32   // of storeFloat
	minBits  int       // of a list's element
	elem     *node     // of a list
	slice    *sliceOf  // of a list
	fields   []node    // of a struct or choice
	tags     []int8    // of a struct: a tag's index in fields, or -1
	tag      int       // of a choice's alternative
	number   uint8     // what the choice's case field becomes
}

// store says what the Go field is.
type store uint8

const (
	storeNothing store = iota
	storeUint32
	storeInt32
	storeUint64
	storeInt64
	storeFloat
	storeEnum // an int32 whose values are one higher than the table's, for 0 is "unspecified"
	storeBool
	storeBytes
	storeMask
	storeCase // uint8
)

// elsewhere lists fields that are called otherwise in our structs, as "GoStruct.tableField": a path to where it goes.
// "*" is any struct.
var elsewhere = map[string]string{
	"*.unitTagIndex": "Unit.Index", "*.unitTagRecycle": "Unit.Recycle", "*.unitTypeName": "Unit.TypeName",
	"*.creatorUnitTagIndex": "Creator.Index", "*.creatorUnitTagRecycle": "Creator.Recycle",
	"*.killerUnitTagIndex": "Killer.Index", "*.killerUnitTagRecycle": "Killer.Recycle",
	"Ability.abilLink": "Link", "Ability.abilCmdIndex": "CommandIndex", "Ability.abilCmdData": "CommandData",
	"TargetUnit.tag": "Unit", "TargetUnit.snapshotPlayerId": "SnapshotControlPlayerId",
	"Chat.string": "Text", "UnitClick.unitTag": "Unit", "UnitHighlight.unitTag": "Unit",
	"Start.fixedFileHash":                      "ReplayCompatibilityHash",
	"AiCommunicate.targetUnitTag":              "TargetUnit",
	"AiCommunicate.targetUnitSnapshotPlayerId": "TargetUnitSnapshotControlPlayerId",
	// Cmd of 1.0 is flat.
	"Cmd.abilLink": "Abil.Link", "Cmd.abilCmdIndex": "Abil.CommandIndex", "Cmd.abilCmdData": "Abil.CommandData",
	"Cmd.targetUnitFlags": "TargetUnit.TargetUnitFlags", "Cmd.targetUnitTimer": "TargetUnit.Timer",
	"Cmd.targetUnitTag":              "TargetUnit.Unit",
	"Cmd.targetUnitSnapshotUnitLink": "TargetUnit.SnapshotUnitLink",
	"Cmd.targetUnitSnapshotPlayerId": "TargetUnit.SnapshotControlPlayerId",
	// So are clicks.
	"TriggerMouseClicked.posXUI": "PosUi.X", "TriggerMouseClicked.posYUI": "PosUi.Y",
	"TriggerMouseClicked.posXWorld": "PosWorld.X", "TriggerMouseClicked.posYWorld": "PosWorld.Y",
	"TriggerMouseClicked.posZWorld": "PosWorld.Z",
}

// oneofs lists the table's choices and what the oneof is called that takes them. Before 1.1 there was a mask in place of
// each choice of masks: it goes to the first alternative.
var oneofs = map[string]string{
	"Cmd.data": "Target", "SelectionDelta.removeMask": "RemoveMask", "ControlGroupUpdate.mask": "RemoveMask",
	"TriggerDialogControl.eventData": "EventData",
}

// scales lists structs whose fractions are not of 1/4096.
var scales = map[string]float32{"CameraUpdate": 1.0 / 256, "CameraSave": 1.0 / 256}

const defaultScale = 1.0 / 4096

// newPlan binds a layout to a struct type. It fails when a field of the layout has no place.
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

// bind binds a value to a Go value of the given type at dst.
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

// storeOf returns how a number is stored in a Go type.
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

// bindSingle binds a struct of one field to what the field alone goes into.
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

// bindField finds a field's place in a struct that begins at base.
func (b *binder) bindField(f protocol.Field, into reflect.Type, base uintptr) (node, error) {
	if oneof, ok := oneofs[into.Name()+"."+f.Name]; ok {
		return b.bindChoice(f.Type, into, base, oneof)
	}
	path, ok := elsewhere[into.Name()+"."+f.Name]
	if !ok {
		path, ok = elsewhere["*."+f.Name]
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
				// A struct that ours does not have: its fields are members of the one around it.
				return b.bind(f.Type, into, base, nil)
			}
			return node{}, fmt.Errorf("%v has no such field", into)
		}
		if flag, ok := in.FieldByName("Has" + place.Name); ok {
			has = append(has, at+flag.Offset)
		}
		at, in = at+place.Offset, place.Type
	}
	return b.bind(f.Type, in, at, has)
}

// fieldNamed finds a Go field by the table's name. Case differs: posUI is PosUi.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	return t.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
}

// bindChoice binds a choice to a oneof: the case field, and behind it the alternatives' fields in order.
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

// bindArray binds a list to a slice, or to a struct that has nothing but a slice.
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

// minBits is how many bits a value takes at least in the bit-packed encoding.
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
