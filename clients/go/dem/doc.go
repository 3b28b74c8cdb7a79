// Package dem keeps the state of the entities of a Source 2 demo. Each event changes a part of the state.
//
//	var state dem.EntityState
//	req.Include = replayd.Kinds(dem.Kinds...)
//	for event, err := range client.Stream(ctx, req).Events() {
//		...
//		state.Apply(event.Message().(*demv1.Event), event.StringAt)
//		for _, hero := range state.OfClass("CDOTA_Unit_Hero_*") {
//			x, y, _, _ := hero.Place()
//			fmt.Println(event.Tick, hero.Name(), hero.Int("m_iHealth"), x, y)
//		}
//	}
//
// A stream must begin at the beginning of the demo, or with the state at its start. The zero values are ready for use. They
// must not be used by several goroutines at once.
package dem
