package replayd_test

import (
	"context"
	"fmt"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func Example() {
	client, err := replayd.Dial(exampleAddr) // such as "localhost:7171"
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	req := &replaydv1.StreamEventsRequest{Replay: root + "/" + finished, Include: replayd.Kinds("join", "drop")}
	for event, err := range client.Events(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Tick, event.Kind, event)
	}
	// Output:
	// 10 join {"sequence":"0","offset":"2317","index":"0","at_tick":10,"kind":"join","join":{"client_id":0}}
	// 140 join {"sequence":"1","offset":"2757","index":"0","at_tick":140,"kind":"join","join":{"client_id":1}}
	// 160 join {"sequence":"2","offset":"3052","index":"0","at_tick":160,"kind":"join","join":{"client_id":2}}
	// 1431 drop {"sequence":"3","offset":"10955","index":"0","at_tick":1431,"kind":"drop","drop":{"client_id":1}}
	// 1431 join {"sequence":"4","offset":"10977","index":"0","at_tick":1431,"kind":"join","join":{"client_id":1}}
	// 1700 drop {"sequence":"5","offset":"12377","index":"0","at_tick":1700,"kind":"drop","drop":{"client_id":2}}
	// 1700 drop {"sequence":"6","offset":"12380","index":"0","at_tick":1700,"kind":"drop","drop":{"client_id":1}}
	// 1701 drop {"sequence":"7","offset":"12388","index":"0","at_tick":1701,"kind":"drop","drop":{"client_id":0}}
}

// A program that computes statistics stores the cursor with its results. When it is started again, it resumes there.
func ExampleClient_Batches() {
	client, err := replayd.Dial(exampleAddr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	req := &replaydv1.StreamEventsRequest{Replay: root + "/" + finished, MaxBatchEvents: 512}
	var stored []byte // a real program stores it, for example in a database
	for run := range 2 {
		if stored != nil {
			req.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: stored}}
		}
		events := 0
		for batch, err := range client.Batches(context.Background(), req) {
			if err != nil {
				fmt.Println(err)
				return
			}
			events += batch.Len()
			if stored = batch.Cursor; run == 0 {
				break // the program is stopped
			}
		}
		fmt.Println(events, "events")
	}
	// Output:
	// 512 events
	// 2918 events
}
