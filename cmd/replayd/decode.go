package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/eventjson"
	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/watch"
)

// responses calls each with the wire bytes of every response of the daemon to the request. The bytes are valid until
// each returns.
func (t *target) responses(ctx context.Context, req *replaydv1.StreamEventsRequest, each func([]byte) error) error {
	return t.explain(t.stream(ctx, req, each))
}

func (t *target) stream(ctx context.Context, req *replaydv1.StreamEventsRequest, each func([]byte) error) error {
	conn, _, err := t.dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	desc := &grpc.StreamDesc{ServerStreams: true}
	s, err := conn.NewStream(ctx, desc, replaydv1.ReplayService_StreamEvents_FullMethodName,
		grpc.ForceCodecV2(rawcodec.New()))
	if err != nil {
		return err
	}
	if err := s.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	for {
		var raw rawcodec.Message
		if err := s.RecvMsg(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := each(raw.Bytes); err != nil {
			return err
		}
	}
}

// localResponses does the same without a daemon: it decodes a file, or what it reads from in, here.
func localResponses(
	ctx context.Context, in io.Reader, req *replaydv1.StreamEventsRequest, reveal bool, each func([]byte) error,
) error {
	send := func(f *frame.Frame) error {
		defer f.Free()
		buf := f.Buffer()
		defer buf.Free()
		return each(buf.ReadOnlyData())
	}
	if req.GetFollow() {
		return localFollow(ctx, req, reveal, send)
	}
	file, err := openLocal(in, req.GetReplay())
	if err != nil {
		return err
	}
	if req.GetStart().GetLastEvents() > 0 && file.Info().Size < 0 { // to find the last events, what comes by a pipe is read twice
		if err := file.Spool(ctx); err != nil {
			_ = file.Close()
			return err
		}
	}
	sub, err := service.Subscribe(ctx, file, req)
	if err != nil {
		_ = file.Close()
		return err
	}
	sub.Replay.RevealSecrets = reveal
	sub.Replay.Close = func() { _ = file.Close() }
	sub.Version = version
	return stream.Run(ctx, sub, send)
}

// localFollow follows a file, or the newest one of a directory, with a daemon of its own that nobody else can reach.
func localFollow(ctx context.Context, req *replaydv1.StreamEventsRequest, reveal bool, send stream.Send) error {
	if req.GetReplay() == "-" {
		return usageError{errors.New("--follow: the standard input is read until it ends anyway")}
	}
	stat, err := os.Stat(req.GetReplay())
	if err != nil {
		return absent(err)
	}
	if !stat.IsDir() && !stat.Mode().IsRegular() {
		return usageError{fmt.Errorf("--follow: %s %w", req.GetReplay(), source.ErrIrregular)}
	}
	// The file's own directory is the root, also where a link leads to the file from somewhere else.
	file, err := filepath.EvalSymlinks(req.GetReplay())
	if err != nil {
		return err
	}
	dir, base := filepath.Split(file)
	if stat.IsDir() {
		dir, base = file, ""
	}
	const alias = "local"
	roots := []catalog.Root{{Alias: alias, Dir: cmp.Or(dir, ".")}}
	cat, err := catalog.New(roots, catalog.Options{Verbatim: true})
	if err != nil {
		return err
	}
	watcher, err := watch.New(watch.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }()
	server, err := service.NewServer(service.Config{
		Catalog: cat, Watcher: watcher, Version: version, RevealSecrets: reveal, Log: slog.New(slog.DiscardHandler),
		IndexDepth: 1, // what lies below is nobody's business here
	})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	req.Replay = path.Join(alias, base)
	return server.Stream(ctx, req, send)
}

// decoded splits responses into what the commands want of them.
type decoded struct {
	// event is called for each event of a batch, or of a part of the state.
	event func(p *eventjson.Printer, at place, event []byte, strings [][]byte) error
	// other is called for each response without events.
	other func(*replaydv1.StreamEventsResponse) error
	// batched is called after the last event of each batch.
	batched func() error

	printers map[protoreflect.FullName]*eventjson.Printer
}

// place is where in a stream an event is.
type place struct {
	sequence uint64
	state    bool // it tells the state, and has no number
}

// response splits one response.
func (d *decoded) response(raw []byte) error {
	batch, ok := field(raw, fieldBatch)
	of := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor()
	at := place{}
	if !ok {
		batch, at.state = field(raw, fieldState)
		of = (*replaydv1.StateBatch)(nil).ProtoReflect().Descriptor()
	}
	if !ok && !at.state {
		var r replaydv1.StreamEventsResponse
		if err := proto.Unmarshal(raw, &r); err != nil {
			return err
		}
		return d.other(&r)
	}
	for len(batch) > 0 {
		num, typ, n := protowire.ConsumeTag(batch)
		if n < 0 {
			return protowire.ParseError(n)
		}
		batch = batch[n:]
		switch {
		case num == 1 && typ == protowire.VarintType: // first_sequence
			at.sequence, n = protowire.ConsumeVarint(batch)
		case typ == protowire.BytesType:
			var list []byte
			if list, n = protowire.ConsumeBytes(batch); n >= 0 {
				if err := d.list(of.Fields().ByNumber(num), at, list); err != nil {
					return err
				}
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, batch)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		batch = batch[n:]
	}
	return d.batched()
}

// list hands out the events of an event list that travelled in that field.
func (d *decoded) list(field protoreflect.FieldDescriptor, at place, list []byte) error {
	if field == nil || field.Message() == nil {
		return errors.New("the daemon sends events of a format that is newer than this program")
	}
	p := d.printers[field.Message().FullName()]
	if p == nil {
		p = eventjson.New(field.Message())
		if d.printers == nil {
			d.printers = map[protoreflect.FullName]*eventjson.Printer{}
		}
		d.printers[field.Message().FullName()] = p
	}
	events, strings, err := p.List(list)
	if err != nil {
		return err
	}
	for _, event := range events {
		if err := d.event(p, at, event, strings); err != nil {
			return err
		}
		at.sequence++
	}
	return nil
}

// The numbers of fields that are read without unmarshalling; see stream.proto.
const (
	fieldCursor = 1 // StreamEventsResponse.cursor
	fieldState  = 3 // StreamEventsResponse.state
	fieldBatch  = 4 // StreamEventsResponse.batch
)

// field returns the last length-delimited field of that number.
func field(raw []byte, want protowire.Number) (value []byte, ok bool) {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, false
		}
		raw = raw[n:]
		if num == want && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(raw)
			if n < 0 {
				return nil, false
			}
			value, ok, raw = v, true, raw[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, raw); n < 0 {
			return nil, false
		}
		raw = raw[n:]
	}
	return value, ok
}
