//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// encoded is a message that need not be encoded again.
type encoded []byte

func (e encoded) WireBytes() mem.BufferSlice { return mem.BufferSlice{mem.SliceBuffer(e)} }

// dial connects as the Go client does.
func dial(address string) *grpc.ClientConn {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20))
	check(err)
	return conn
}

func request(replay string, options []string) *replaydv1.StreamEventsRequest {
	req := &replaydv1.StreamEventsRequest{Replay: replay}
	if len(options) > 0 {
		req.Encoding = replaydv1.Encoding_ENCODING_ARROW
	} else {
		req.MaxBatchEvents = 4096 // as the Go client asks
	}
	return req
}

// receive returns how many events a stream has, by its last message, and gives each message to a function.
func receive(conn *grpc.ClientConn, req *replaydv1.StreamEventsRequest, each func([]byte)) int {
	method := replaydv1.ReplayService_StreamEvents_FullMethodName
	stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(rawcodec.New()))
	check(err)
	check(stream.SendMsg(req))
	check(stream.CloseSend())
	var last []byte
	for {
		var message rawcodec.Message
		if err := stream.RecvMsg(&message); errors.Is(err, io.EOF) {
			break
		} else {
			check(err)
		}
		last = message.Bytes
		if each != nil {
			each(last)
		}
	}
	var end replaydv1.StreamEventsResponse
	check(proto.Unmarshal(last, &end))
	return int(end.GetEnd().GetEventsSent())
}

// record stores the messages of a stream, each after its length.
func record(address, replay, to string) {
	f, err := os.Create(to)
	check(err)
	w := bufio.NewWriter(f)
	receive(dial(address), request(replay, nil), func(message []byte) {
		_, err := w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(message))))
		check(err)
		_, err = w.Write(message)
		check(err)
	})
	check(w.Flush())
	check(f.Close())
}

// serve sends the messages to each client: what gRPC alone costs.
func serve(address, from string) {
	var messages []encoded
	for data := read(from); len(data) > 0; {
		end := 4 + binary.LittleEndian.Uint32(data)
		messages, data = append(messages, data[4:end]), data[end:]
	}
	l, err := net.Listen("tcp", address)
	check(err)
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawcodec.New()), grpc.ReadBufferSize(1<<10), // as the daemon
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var req rawcodec.Message
			if err := stream.RecvMsg(&req); err != nil {
				return err
			}
			for _, message := range messages {
				if err := stream.SendMsg(message); err != nil {
					return err
				}
			}
			return nil
		}))
	check(server.Serve(l))
}
