package table_test

import (
	"encoding/binary"
	"fmt"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/table"
)

// A format describes its tables once; a set then collects the events of a batch in columns.
func Example() {
	format := &table.Format{Kinds: []table.Kind{{}, {Name: "hit", Fields: []table.Field{
		{Name: "player", Type: table.Int32}, {Name: "weapon", Type: table.Text, Nullable: true},
	}}}}
	set := table.NewSet(format.Layout(false))
	set.TicksPerSecond = 50
	for i, weapon := range []string{"hammer", ""} {
		columns := set.Begin(1, decoders.Position{Offset: int64(10 * i)}, 100)
		columns[0].Int32(int32(7 + i))
		if weapon == "" {
			columns[1].Null()
		} else {
			columns[1].Text([]byte(weapon))
		}
	}
	err := set.All(func(t *table.Table) error {
		players, weapons := &t.Columns[table.Positions], &t.Columns[table.Positions+1]
		for i := range t.Rows {
			fmt.Printf("%d %q\n", binary.LittleEndian.Uint32(players.Data[4*i:]), weapons.Data[weapons.Offsets[i]:weapons.Offsets[i+1]])
		}
		fmt.Println(t.Rows, "rows,", weapons.Nulls, "missing")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 7 "hammer"
	// 8 ""
	// 2 rows, 1 missing
}
