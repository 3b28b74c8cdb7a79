package plain_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func subscribedOf(number uint32, r *replaydv1.StreamEventsResponse) proto.Message {
	return &replaydv1.SubscribeEventsResponse{
		Replay: number, Token: []byte{byte(number)}, Response: &replaydv1.SubscribeEventsResponse_Streamed{Streamed: r},
	}
}

func started(number uint32, name string) proto.Message {
	return subscribedOf(number, &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{
		Start: &replaydv1.StreamStart{Replay: &replaydv1.Replay{Name: name}},
	}})
}

// dropped is a batch with an event of each client.
func dropped(number uint32, clients ...int32) proto.Message {
	list := &teehistorianv1.EventList{}
	batch := &replaydv1.EventBatch{FirstSequence: 7, Events: &replaydv1.EventBatch_Teehistorian{Teehistorian: list}}
	for _, id := range clients {
		list.Events = append(list.Events, &teehistorianv1.Event{Kind: &teehistorianv1.Event_Join{Join: &teehistorianv1.Join{ClientId: id}}})
		batch.Offsets = append(batch.Offsets, 5)
	}
	return subscribedOf(number, &replaydv1.StreamEventsResponse{
		Cursor: []byte("its own"), Response: &replaydv1.StreamEventsResponse_Batch{Batch: batch},
	})
}

// TestSubscribed: each line and each server-sent event of all replays has the present name of its replay, and the token as its cursor. The
// end of a replay, and its failure, are not the end of the stream.
func TestSubscribed(t *testing.T) {
	ended := subscribedOf(1, &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{
		Reason: replaydv1.EndReason_END_REASON_FINISHED,
	}}})
	state := subscribedOf(1, &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_State{State: &replaydv1.StateBatch{
		Complete: true, Events: &replaydv1.StateBatch_Teehistorian{Teehistorian: &teehistorianv1.EventList{
			Events: []*teehistorianv1.Event{{Kind: &teehistorianv1.Event_Join{Join: &teehistorianv1.Join{ClientId: 9}}}},
		}},
	}}})
	service := &called{messages: []proto.Message{
		&replaydv1.SubscribeEventsResponse{Token: []byte{8}, Response: &replaydv1.SubscribeEventsResponse_Heartbeat{
			Heartbeat: &replaydv1.SubscriptionHeartbeat{Silent: 3},
		}},
		started(1, `live/"a"`), state, started(2, "b"), dropped(2, 3, 4), dropped(1, 1), started(1, "moved"), dropped(1),
		&replaydv1.SubscribeEventsResponse{Replay: 2, Token: []byte{4}, Response: &replaydv1.SubscribeEventsResponse_Failure{
			Failure: &replaydv1.SubscriptionFailure{Name: "b", Code: 14, Retried: true}, // its events go on
		}},
		ended, dropped(2, 5),
	}}
	event := func(replay, rest string) string { return `{"replay":` + replay + rest + "}\n" }
	join := `,"sequence":"7","offset":"5","index":"0","at_tick":0,"kind":"join","join":{"client_id":`
	want := []string{
		`{"cursor":"CA","heartbeat":{"replays":[],"silent":3,"waiting":0,"unacknowledged":false}}` + "\n",
		`{"cursor":"AQ","replay":"live/\"a\"","start":{"replay":{"name":"live/\"a\""`,
		event(`"live/\"a\""`, `,"state":true,"at_tick":0,"kind":"join","join":{"client_id":9}`),
		`{"cursor":"AQ","replay":"live/\"a\"","state_complete":true}` + "\n",
		`{"cursor":"Ag","replay":"b","start":{"replay":{"name":"b"`,
		event(`"b"`, join+"3}"),
		event(`"b"`, `,"sequence":"8","offset":"10","index":"0","at_tick":0,"kind":"join","join":{"client_id":4}`),
		`{"cursor":"Ag","replay":"b"}` + "\n",
		event(`"live/\"a\""`, join+"1}"),
		`{"cursor":"AQ","replay":"live/\"a\""}` + "\n",
		`{"cursor":"AQ","replay":"moved","start":{"replay":{"name":"moved"`,
		`{"cursor":"AQ","replay":"moved"}` + "\n",
		`{"cursor":"BA","replay":"b","failure":{"name":"b","code":14,"reason":"ERROR_REASON_UNSPECIFIED","message":"","retried":true}}` + "\n",
		`{"cursor":"AQ","replay":"moved","end":{"reason":"END_REASON_FINISHED"`,
		event(`"b"`, join+"5}"),
		`{"cursor":"Ag","replay":"b"}` + "\n",
	}
	compare(t, ask(http.MethodGet, "/v1/events", nil, service).Body.String(), "\n", want)

	join = `"sequence":"7","offset":"5","index":"0","at_tick":0,"kind":"join","join":{"client_id":`
	want = []string{
		"retry: 1000\n\n",
		"id: CA\nevent: heartbeat\ndata: " + `{"heartbeat":{"replays":[],"silent":3,"waiting":0,"unacknowledged":false}}` + "\n\n",
		"id: AQ\nevent: start\ndata: " + `{"replay":"live/\"a\"","start":{"replay":{"name":"live/\"a\""`,
		"id: AQ\nevent: state\ndata: " + `{"replay":"live/\"a\"","events":[{"state":true,"at_tick":0,"kind":"join","join":{"client_id":9}}],"complete":true}` + "\n\n",
		"id: Ag\nevent: start\ndata: " + `{"replay":"b","start":{"replay":{"name":"b"`,
		"id: Ag\ndata: " + `{"replay":"b","events":[{` + join + `3}},{"sequence":"8","offset":"10","index":"0","at_tick":0,"kind":"join","join":{"client_id":4}}]}` + "\n\n",
		"id: AQ\ndata: " + `{"replay":"live/\"a\"","events":[{` + join + "1}}]}\n\n",
		"id: AQ\nevent: start\ndata: " + `{"replay":"moved","start":{"replay":{"name":"moved"`,
		"id: AQ\ndata: " + `{"replay":"moved","events":[]}` + "\n\n",
		"id: BA\nevent: replay_failure\ndata: " + `{"replay":"b","failure":{"name":"b","code":14,"reason":"ERROR_REASON_UNSPECIFIED","message":"","retried":true}}` + "\n\n",
		"id: AQ\nevent: end\ndata: " + `{"replay":"moved","end":{"reason":"END_REASON_FINISHED"`,
		"id: Ag\ndata: " + `{"replay":"b","events":[{` + join + "5}}]}\n\n",
	}
	compare(t, ask(http.MethodGet, "/v1/events", map[string]string{"Accept": "text/event-stream"}, service).Body.String(), "\n\n", want)
}

// compare compares a text with its parts, of which some are only the beginning.
func compare(t *testing.T, text, separator string, want []string) {
	t.Helper()
	got := strings.SplitAfter(strings.TrimSuffix(text, separator), separator)
	if len(got) != len(want) {
		t.Errorf("%d parts, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if i == len(got)-1 {
			got[i] += separator
		}
		if whole := strings.HasSuffix(want[i], separator); !strings.HasPrefix(got[i], want[i]) || whole && got[i] != want[i] {
			t.Errorf("part %d is\n%s, want\n%s", i, got[i], want[i])
		}
	}
}

// TestSubscribedRequest: the parameters are those of the request, and the id that an EventSource sends goes before the cursor in the URL.
func TestSubscribedRequest(t *testing.T) {
	service := &called{}
	ask(http.MethodGet, "/v1/events?directory=a/b&format=dem,sc2replay&map=m&server=s&parallel=3&kind=chat&cursor=AQ&heartbeat=2s",
		map[string]string{"Accept": "text/event-stream", "Last-Event-ID": "_-8"}, service)
	got := service.request.(*replaydv1.SubscribeEventsRequest)
	if string(got.GetToken()) != "\xff\xef" || got.GetDirectory() != "a/b" || len(got.GetFormats()) != 2 || got.GetParallel() != 3 ||
		got.GetFilter().GetMapName() != "m" || got.GetFilter().GetServer() != "s" ||
		got.GetOptions().GetInclude()[0].GetKinds()[0] != "chat" || got.GetOptions().GetHeartbeatInterval().GetSeconds() != 2 {
		t.Error(got)
	}
	ask(http.MethodGet, "/v1/events?cursor=AQ", map[string]string{"Last-Event-ID": "_-8"}, service)
	if got := service.request.(*replaydv1.SubscribeEventsRequest); string(got.GetToken()) != "\x01" {
		t.Errorf("lines resume at % x", got.GetToken())
	}
	for header, status := range map[string]int{"over": http.StatusNoContent, "+*": http.StatusBadRequest} {
		w := ask(http.MethodGet, "/v1/events", map[string]string{"Accept": "text/event-stream", "Last-Event-ID": header}, &called{})
		if w.Code != status {
			t.Errorf("%s: %d", header, w.Code)
		}
	}
}
