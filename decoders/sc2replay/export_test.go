package sc2replay

import (
	"reflect"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// LeftOut returns the fields of a table that have no place in the structs.
func LeftOut(t *protocol.Table) (fields []string) {
	add := func(where string, p *plan, err error) {
		if err != nil {
			fields = append(fields, where+": "+err.Error())
			return
		}
		if p != nil && leavesOut(&p.node) {
			fields = append(fields, where)
		}
	}
	for _, s := range []protocol.Stream{protocol.Game, protocol.Message, protocol.Tracker} {
		for _, e := range plansOf(t, s) {
			if e != nil {
				add(e.event.Name, e.plan, nil)
			}
		}
	}
	for into, typ := range map[reflect.Type]*protocol.Type{
		reflect.TypeFor[Start](): t.Header, reflect.TypeFor[Details](): t.Details, reflect.TypeFor[Lobby](): t.InitData,
	} {
		p, err := rootPlan(typ, into)
		add(into.Name(), p, err)
	}
	return fields
}

func leavesOut(n *node) bool {
	if n.skip != nil || n.elem != nil && leavesOut(n.elem) {
		return true
	}
	for i := range n.fields {
		if leavesOut(&n.fields[i]) {
			return true
		}
	}
	return false
}
