package sc2replay

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// Kinds is a set of kinds of events.
type Kinds [KindCount]bool

// AllKinds returns the set of all kinds.
func AllKinds() Kinds {
	var k Kinds
	for i := range k {
		k[i] = true
	}
	return k
}

// place is the location of a kind's message in Event.
type place struct {
	kind   Kind
	typ    reflect.Type
	offset uintptr
}

// places maps an event's name in the table, in lower case, to its message.
var places = sync.OnceValue(func() map[string]place {
	out := map[string]place{}
	event := reflect.TypeFor[Event]()
	for k := KindNone + 1; k < KindCount; k++ {
		name := strings.ReplaceAll(k.String(), "_", "")
		if f, ok := fieldNamed(event, name); ok {
			out[name] = place{k, f.Type, f.Offset}
		}
	}
	return out
})

// eventPlan describes how one event of a table is decoded. Without a plan the event becomes a KindTriggerUi or KindOther.
type eventPlan struct {
	event  *protocol.Event
	name   []byte // of the event; it must not be modified
	kind   Kind
	plan   *plan
	offset uintptr // of the kind's message in Event
	finish func(*Event)
}

var eventPlans sync.Map // of planKey to *eventPlan

// planKey identifies a plan. Several events may share one layout.
type planKey struct {
	typ  *protocol.Type
	name string
	id   int
}

// planFor returns the plan of an event. It makes each plan once.
func planFor(e *protocol.Event) *eventPlan {
	key := planKey{e.Type, e.Name, e.ID}
	if p, ok := eventPlans.Load(key); ok {
		return p.(*eventPlan)
	}
	p := &eventPlan{event: e, name: []byte(e.Name), kind: KindOther}
	if strings.HasPrefix(e.Name, triggerPrefix) {
		p.kind = KindTriggerUi
	}
	if at, ok := places()[strings.ToLower(e.Name)]; ok {
		if bound, err := newPlan(e.Type, at.typ); err == nil {
			p.kind, p.plan, p.offset, p.finish = at.kind, bound, at.offset, finishers[at.kind]
		}
	}
	actual, _ := eventPlans.LoadOrStore(key, p)
	return actual.(*eventPlan)
}

// message returns the address of the event's message in ev.
func (p *eventPlan) message(ev *Event) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(ev), p.offset)
}

// plansOf returns the plans of a table's stream, indexed by the events' numbers.
func plansOf(t *protocol.Table, s protocol.Stream) []*eventPlan {
	events := t.Events(s)
	plans := make([]*eventPlan, len(events))
	for i, e := range events {
		if e != nil {
			plans[i] = planFor(e)
		}
	}
	return plans
}

// rootPlan returns the plan for a root of a table, such as the details.
func rootPlan(t *protocol.Type, into reflect.Type) (*plan, error) {
	key := planKey{typ: t, name: into.Name(), id: -1}
	if p, ok := eventPlans.Load(key); ok {
		return p.(*eventPlan).plan, nil
	}
	p, err := newPlan(t, into)
	if err != nil {
		return nil, err
	}
	eventPlans.Store(key, &eventPlan{plan: p})
	return p, nil
}
