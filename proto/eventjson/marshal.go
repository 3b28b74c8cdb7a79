package eventjson

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Marshal returns a message that is not an event, such as a description of a replay, as JSON without spaces and without a newline.
// Fields have their names in the .proto, and scalars are included even if they are zero.
func Marshal(m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer // protojson inserts random spaces
	err = json.Compact(&line, text)
	return line.Bytes(), err
}
