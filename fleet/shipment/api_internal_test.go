package shipment

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestAsk: the answer of a server that knows no leader is not that of the stream, however early it comes.
func TestAsk(t *testing.T) {
	t.Parallel()
	const noLeader = `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`
	for name, test := range map[string]struct {
		answers []string
		limit   time.Duration
		want    string
		code    jetstream.ErrorCode
		is      error
	}{
		"a server without a leader is first": {answers: []string{noLeader, noLeader, `{"value":"of the leader"}`}, want: "of the leader"},
		"the leader is first":                {answers: []string{`{"value":"of the leader"}`, noLeader}, want: "of the leader"},
		"the leader refuses":                 {answers: []string{noLeader, `{"error":{"code":404,"err_code":10059}}`}, code: 10059, is: jetstream.ErrStreamNotFound},
		"nobody knows a leader":              {answers: []string{noLeader, noLeader}, limit: 100 * time.Millisecond, code: codeNoLeader},
		"no answer":                          {answers: []string{}, limit: 100 * time.Millisecond, is: context.DeadlineExceeded},
		"nobody is there":                    {is: nats.ErrNoResponders},
		"no JSON":                            {answers: []string{"?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := bare(t)
			js, err := jetstream.New(conn)
			if err != nil {
				t.Fatal(err)
			}
			asked := make(chan string, 1)
			if test.answers != nil {
				if _, err := conn.Subscribe("$JS.API.STREAM.MSG.GET.live", func(m *nats.Msg) {
					asked <- string(m.Data)
					for _, answer := range test.answers {
						_ = m.Respond([]byte(answer))
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.limit, time.Minute))
			defer cancel()
			var got struct{ Value string }
			err = (&journal{name: "live", js: js}).ask(ctx, "MSG.GET", map[string]string{"last_by_subj": "a.b"}, &got)
			api, _ := errors.AsType[*jetstream.APIError](err)
			switch {
			case test.want != "" && (err != nil || got.Value != test.want):
				t.Errorf("%q, %v; want %q", got.Value, err, test.want)
			case test.want == "" && err == nil:
				t.Errorf("%q without an error", got.Value)
			case test.code != 0 && (api == nil || api.ErrorCode != test.code):
				t.Errorf("%v, want the code %d", err, test.code)
			case test.is != nil && !errors.Is(err, test.is):
				t.Errorf("%v, want %v", err, test.is)
			}
			if test.answers != nil {
				if request := <-asked; request != `{"last_by_subj":"a.b"}` {
					t.Errorf("asked %s", request)
				}
			}
		})
	}
}

// TestSubjects: JetStream answers with the subjects of a stream in parts, each from where the one before ended.
func TestSubjects(t *testing.T) {
	t.Parallel()
	conn := bare(t)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Subscribe("$JS.API.STREAM.INFO.live", func(m *nats.Msg) {
		answer := map[string]string{
			`{"offset":0,"subjects_filter":"a.*"}`: `{"total":3,"state":{"subjects":{"a.b":1,"a.c":2}}}`,
			`{"offset":2,"subjects_filter":"a.*"}`: `{"total":3,"state":{"subjects":{"a.d":1}}}`,
		}[string(m.Data)]
		_ = m.Respond([]byte(answer))
	}); err != nil {
		t.Fatal(err)
	}
	got, err := (&journal{name: "live", js: js}).subjects(t.Context(), "a.*")
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"a.b", "a.c", "a.d"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// bare connects to a NATS server without JetStream, for which the test answers.
func bare(t *testing.T) *nats.Conn {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
