package shipment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// codeNoLeader is the answer of a clustered server that knows no leader of the stream.
const codeNoLeader jetstream.ErrorCode = 10008

// ask asks the interface of JetStream about the stream, and reads the answer into answer, a pointer.
//
// All servers of a cluster get a request, and only the stream's leader should answer. But a server whose disk is full loses the leader
// and says so, often before the leader has answered (jsMsgGetRequest of nats-server, isGroupLeaderless). The library takes the first
// answer, and would take that one each time. So the first other answer counts. Without one, the answer is that there is no leader.
func (j *journal) ask(ctx context.Context, verb string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	conn := j.js.Conn()
	answers, err := conn.SubscribeSync(conn.NewInbox())
	if err != nil {
		return fmt.Errorf("asking for answers: %w", err)
	}
	defer func() { _ = answers.Unsubscribe() }() // it fails if the connection is closed, which ends the subscription, too
	if err := conn.PublishRequest(jetstream.DefaultAPIPrefix+"STREAM."+verb+"."+j.name, answers.Subject, body); err != nil {
		return fmt.Errorf("asking JetStream: %w", err)
	}
	var leaderless error
	for {
		m, err := answers.NextMsgWithContext(ctx)
		switch {
		case err != nil && leaderless != nil && errors.Is(err, context.DeadlineExceeded):
			return leaderless
		case err != nil:
			return err
		case len(m.Data) == 0 && m.Header.Get("Status") == "503":
			return nats.ErrNoResponders
		}
		var failed struct {
			Error *jetstream.APIError `json:"error"`
		}
		switch err := json.Unmarshal(m.Data, &failed); {
		case err != nil:
			return fmt.Errorf("reading what JetStream answered: %w", err)
		case failed.Error == nil:
			return json.Unmarshal(m.Data, answer)
		case failed.Error.ErrorCode != codeNoLeader:
			return failed.Error
		}
		leaderless = failed.Error
	}
}
