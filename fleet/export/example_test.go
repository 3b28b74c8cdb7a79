package export_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/internal/daemontest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// The joins of a replay become a table in a directory.
func Example() {
	d := daemontest.New("r", filepath.Join("..", "..", "testdata"))
	if err := d.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = d.Stop() }()
	dir, err := os.MkdirTemp("", "export-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := exportJoins(context.Background(), d.Addr, "r/teehistorian/finished/"+game, dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 4 events
	// format=teehistorian/kind=join
	// replays/format=teehistorian
}

func exportJoins(ctx context.Context, addr, replay, dir string) error {
	c, err := client.Dial(addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	e := export.New(export.Options{
		Name: replay, Selection: "joins", Place: export.Dir{Path: dir}, Format: tablefile.Parquet,
		Tables: func(string) string { return "1" },
	})
	defer e.Close()
	req := &replaydv1.StreamEventsRequest{
		Replay: replay, Include: client.Kinds("join"), Encoding: replaydv1.Encoding_ENCODING_ARROW,
	}
	for response, err := range c.Stream(ctx, req).Responses() {
		if err == nil {
			err = e.Add(ctx, response)
		}
		if err != nil {
			return err
		}
	}
	if err := e.Finish(ctx); err != nil {
		return err
	}
	fmt.Println(e.Events(), "events")
	for _, name := range slices.Sorted(slices.Values(e.Names())) {
		fmt.Println(filepath.Dir(name))
	}
	return nil
}
