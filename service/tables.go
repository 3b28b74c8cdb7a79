package service

import (
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/opened"
	plainhttp "github.com/replayd/replayd/service/plain"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/tables"
	"github.com/replayd/replayd/service/temporary"
)

// tableFormats lists the formats in which plain HTTP serves tables.
var tableFormats = []tablefile.Format{tablefile.Parquet, tablefile.Arrow, tablefile.CSV}

// sendTable returns the handler that answers a request for events of one kind with a table as a file. The call ends when the client has
// read the file, or what it wants of it.
func (s *Server) sendTable(f tablefile.Format) grpc.StreamHandler {
	return func(_ any, ss grpc.ServerStream) (err error) {
		ctx, req := ss.Context(), new(replaydv1.StreamEventsRequest)
		defer func() { err = s.fail(ctx, err, req.GetReplay()) }()
		if err := ss.RecvMsg(req); err != nil {
			return err
		}
		if err := s.enter(ctx, streamCost); err != nil {
			return err
		}
		t, err := s.openTable(ctx, req, f)
		if err != nil {
			return err
		}
		defer t.Close()
		content, read := &served{ctx: ctx, Table: t}, make(chan struct{})
		answer := &plainhttp.Table{Content: content, Tag: t.Tag, End: t.End, Detail: t.Detail, Sent: func() { close(read) }}
		if err := unwrapped(ss).SendMsg(answer); err != nil {
			return err
		}
		select {
		case <-read:
			s.sent(ctx)(content.n)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// served is a table that a client reads until its call ends.
type served struct {
	*tables.Table

	ctx context.Context //nolint:containedctx // that of the call
	n   int
}

// Read implements io.Reader.
func (r *served) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Table.Read(p)
	r.n += n
	return n, err
}

var _ io.ReadSeeker = (*served)(nil)

// openTable opens a table that is kept, or makes it.
func (s *Server) openTable(ctx context.Context, req *replaydv1.StreamEventsRequest, f tablefile.Format) (*tables.Table, error) {
	info, version, err := s.look(ctx, req.GetReplay())
	if err != nil {
		return nil, err
	}
	c, err := describe.CodecOf(info.Format)
	if err != nil {
		return nil, err
	}
	opened.Choose(req, req.GetInclude()[0].GetKinds()[0])
	kind, err := kindOf(c, req)
	if err != nil {
		return nil, err
	}
	asked, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, err
	}
	grant, who := access.Of(ctx), s.whoOf(ctx)
	who.Rate = 0 // the call's rate was counted already
	a := tables.Asked{
		Key:     strings.Join([]string{grant.Key(), grant.RootsKey(), string(f), string(asked)}, "\x00"),
		Version: fmt.Sprint(info.ID, version), Owner: s.callerKey(ctx),
	}
	a.Tag, a.Part = partOf(ctx)
	return s.tables.Open(ctx, a, func(d *tables.Draft) (tables.Result, error) {
		m := &tables.Maker{Kind: kind, Format: f, Version: c.Tables.Version(), Draft: d}
		defer m.Close()
		return s.makeTable(ctx, req, m)
	}, s.Admission.Hold(who))
}

// partOf returns the tag of the table of which a request wants a part, if it names one, and whether it wants a part.
func partOf(ctx context.Context) (tag string, part bool) {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, name := range []string{"if-match", "if-range"} {
		for _, v := range md.Get(name) {
			if strings.HasPrefix(v, `"`) {
				tag = v
			}
		}
	}
	return tag, len(md.Get("range")) > 0
}

// look returns the description of a file that the caller may see, and its version.
func (s *Server) look(ctx context.Context, name string) (info source.Info, version source.Version, err error) {
	if err := checkName(name); err != nil {
		return info, version, err
	}
	if !scope.Reaches(access.Of(ctx), name) {
		return info, version, catalog.NotFound(name)
	}
	var file *source.File
	if temporary.Is(name) {
		file, _, err = s.temporary.Open(access.Of(ctx).Key(), name)
	} else {
		file, err = s.Catalog.OpenContext(ctx, name)
	}
	if err != nil {
		return info, version, err
	}
	defer func() { _ = file.Close() }()
	info, version = file.Info(), file.Version()
	if err := scope.Seen(ctx, info.Name, info.Format); err != nil {
		return info, version, err
	}
	return info, version, file.Recognized()
}

// kindOf returns the number of the only kind of a request.
func kindOf(c *codec.Codec, req *replaydv1.StreamEventsRequest) (uint8, error) {
	selected, err := filter.Compile(&c.Filters, req.GetInclude(), nil)
	if err != nil {
		return 0, err
	}
	for k := range c.Tables.Kinds {
		if k > 0 && selected.Kind(uint8(k)) {
			if c.Filters.Kinds[k].State {
				return 0, fault.BadRequest("include[0].kinds[0]", c.Filters.Kinds[k].Name+" only describes a state, which tables do not have")
			}
			return uint8(k), nil
		}
	}
	return 0, fault.BadRequest("include[0].kinds[0]", "no event of the kind can match")
}

// makeTable streams the events of a table to a draft.
func (s *Server) makeTable(ctx context.Context, req *replaydv1.StreamEventsRequest, m *tables.Maker) (tables.Result, error) {
	ticket, cost := admission.Of(ctx), tables.Cost(m.Format)
	if err := ticket.Memory(cost); err != nil {
		return tables.Result{}, err
	}
	defer func() { _ = ticket.Memory(-cost) }()
	c, err := s.opened.Open(ctx, req)
	if err != nil {
		return tables.Result{}, err
	}
	m.Layout, c.Replay.Tables.Encoder = c.Replay.Tables.Layout, nil // columns are passed on as they are
	err = s.run(ctx, c, func(f *frame.Frame) error {
		defer f.Free()
		if err := incomplete[f.Response().GetEnd().GetReason()]; err != nil {
			return err
		}
		return m.Frame(f)
	})
	if err != nil && (source.Damage(err) == "" || !m.Damage(err.Error())) {
		return tables.Result{}, err
	}
	return m.Finish()
}
