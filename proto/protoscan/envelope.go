package protoscan

import "google.golang.org/protobuf/encoding/protowire"

// The numbers of the fields around the events; see stream.proto and subscribe.proto.
const (
	ResponseCursor protowire.Number = 1 // StreamEventsResponse.cursor
	ResponseState  protowire.Number = 3 // StreamEventsResponse.state
	ResponseBatch  protowire.Number = 4 // StreamEventsResponse.batch

	SubscribedReplay   protowire.Number = 1 // SubscribeEventsResponse.replay
	SubscribedToken    protowire.Number = 2 // SubscribeEventsResponse.token
	SubscribedStreamed protowire.Number = 3 // SubscribeEventsResponse.streamed

	BatchFirst   protowire.Number = 1 // EventBatch.first_sequence
	BatchNext    protowire.Number = 2 // EventBatch.next_sequence
	BatchOffsets protowire.Number = 7 // EventBatch.offsets
	BatchIndexes protowire.Number = 8 // EventBatch.indexes
	BatchTables  protowire.Number = 9 // EventBatch.tables

	StateComplete protowire.Number = 3 // StateBatch.complete
	StateTables   protowire.Number = 5 // StateBatch.tables

	TableKind   protowire.Number = 1 // Table.kind
	TableRows   protowire.Number = 2 // Table.rows
	TableSchema protowire.Number = 3 // Table.schema
	TableData   protowire.Number = 4 // Table.data

	ListEvents protowire.Number = 1 // events of the EventList of every format
)
