package dem_test

import (
	"bytes"
	"fmt"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

func Example() {
	file := bytes.NewReader(demtest.Sample()) // or an *os.File
	d := dem.New(file, dem.Options{
		Kinds:   func(k dem.Kind) bool { return k == dem.KindCombatLog || k == dem.KindEntityUpdated },
		Classes: func(class string) bool { return class == "CDOTAGamerulesProxy" },
		Fields:  func(_, field string) bool { return field == "m_pGameRules.m_bGamePaused" },
	})
	for ev, err := range decoders.All(d) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev.Kind {
		case dem.KindCombatLog:
			if c := &ev.CombatLog; c.Type == dem.CombatLogTypeDamage {
				fmt.Printf("tick %d: %s hits %s for %d\n", ev.AtTick, c.AttackerName, c.TargetName, c.Value)
			}
		case dem.KindEntityUpdated:
			for _, f := range ev.EntityUpdated.Fields {
				fmt.Printf("tick %d: %s = %v\n", ev.AtTick, d.Name(f.Field), f.Bool)
			}
		}
	}
	fmt.Println(d.Stats().EntitySkips, "updates of other entities were skipped")
	// Output:
	// tick 2: npc_dota_hero_axe hits npc_dota_hero_lina for 75
	// tick 2: m_pGameRules.m_bGamePaused = true
	// 8 updates of other entities were skipped
}

func ExampleReadInfo() {
	header, info, lastTick, ok, err := dem.ReadInfo(bytes.NewReader(demtest.Sample()))
	if err != nil || !ok {
		fmt.Println("nothing is told:", err)
		return
	}
	fmt.Printf("%s on %s, %d ticks, match %d\n", header.Game, header.MapName, lastTick, info.Match.Id)
	for _, p := range info.Match.Players {
		fmt.Printf("%s plays %s\n", p.PlayerName, p.HeroName)
	}
	// Output:
	// dota on dota, 10 ticks, match 7000000001
	// somebody plays npc_dota_hero_axe
	// a bot plays npc_dota_hero_lina
}
