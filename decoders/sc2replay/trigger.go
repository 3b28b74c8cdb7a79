package sc2replay

import "bytes"

// triggerPrefix begins the names of events for a map's triggers. All of them are KindTriggerUi: most belong to panels of
// campaigns, which hardly any replay has.
const triggerPrefix = "Trigger"

// conclude sets the ability and the unit that the fields name, if any.
func (t *TriggerUi) conclude() {
	t.HasAbil, t.HasUnit = false, false
	switch string(t.Name) {
	case "TriggerCommandError":
		if abil := fieldOfName(t.Fields, "abil"); abil != nil {
			t.setAbility(abil.Fields)
		}
	case "TriggerTargetModeUpdate":
		t.setAbility(t.Fields)
	case "TriggerPing":
		if tag := fieldOfName(t.Fields, "unit"); tag != nil {
			t.Unit, t.HasUnit = Unit{Tag: uint32(tag.IntValue)}, true
		}
	}
}

func (t *TriggerUi) setAbility(fields []Field) {
	link, index := fieldOfName(fields, "abilLink"), fieldOfName(fields, "abilCmdIndex")
	if link == nil || index == nil {
		return
	}
	t.Abil, t.HasAbil = Ability{Link: uint32(link.IntValue), CommandIndex: uint32(index.IntValue)}, true
	if data := fieldOfName(fields, "abilCmdData"); data != nil {
		t.Abil.CommandData, t.Abil.HasCommandData = uint32(data.IntValue), true
	}
}

// fieldOfName returns the field with a name, or nil.
func fieldOfName(fields []Field, name string) *Field {
	for i := range fields {
		if bytes.Equal(fields[i].Name, []byte(name)) {
			return &fields[i]
		}
	}
	return nil
}
