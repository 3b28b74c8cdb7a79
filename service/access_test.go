package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
)

// guarded is a daemon with tokens that serves two roots, and the addresses and clients to reach it.
type guarded struct {
	*daemon

	gate   *access.Gate
	tokens string // the file
	web    string // HOST:PORT
	viaWeb *grpc.ClientConn
}

const others = "second-root"

// startGuarded runs a daemon on two directories.
func startGuarded(t *testing.T, dir, other, tokens string, change ...func(*service.Config)) *guarded {
	t.Helper()
	g := &guarded{tokens: filepath.Join(t.TempDir(), "tokens")}
	write(t, g.tokens, []byte(tokens))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.web = listener.Addr().String()
	g.daemon = startWith(t, dir, listener, 5*time.Second, func(c *service.Config) {
		if g.gate, err = access.NewGate(access.Options{TokenFile: g.tokens, Log: c.Log}); err != nil {
			t.Fatal(err)
		}
		c.Gate = g.gate
		c.Catalog, err = catalog.New([]catalog.Root{{Alias: alias, Dir: dir}, {Alias: others, Dir: other}}, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range change {
			f(c)
		}
	})
	g.viaWeb, err = grpc.NewClient(g.web, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.viaWeb.Close() })
	return g
}

// as returns a context for calls with a token, or without one if token is empty.
func as(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// method is a method of a daemon.
type method struct {
	full   string // with a slash before it
	desc   protoreflect.MethodDescriptor
	stream bool
}

// methodsOf returns all methods of all services that are registered with a daemon's gRPC server.
func methodsOf(t *testing.T, d *daemon) (list []method) {
	t.Helper()
	for name, info := range d.services() {
		desc, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range info.Methods {
			list = append(list, method{
				"/" + name + "/" + m.Name, desc.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(m.Name)),
				m.IsClientStream || m.IsServerStream,
			})
		}
	}
	if len(list) < 10 {
		t.Fatalf("%d methods", len(list))
	}
	return list
}

// request returns a request for a method, with the name in each field that can name a replay or a directory.
func (m method) request(name string) proto.Message {
	msg := dynamicpb.NewMessage(m.desc.Input())
	fill(msg, name)
	return msg
}

func fill(msg protoreflect.Message, name string) {
	fields := msg.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.Name() == "replay" || f.Name() == "directory" || f.Name() == "name" || f.Name() == "source":
			if f.Kind() == protoreflect.StringKind && !f.IsList() {
				msg.Set(f, protoreflect.ValueOfString(name))
			}
		case f.Name() == "options" && f.Kind() == protoreflect.MessageKind:
			fill(msg.Mutable(f).Message(), name)
		}
	}
}

// byGRPC calls a method by gRPC, and returns its first response.
func (m method) byGRPC(ctx context.Context, conn *grpc.ClientConn, name string) (string, error) {
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	s, err := conn.NewStream(ctx, desc, m.full)
	if err != nil {
		return "", err
	}
	if err := s.SendMsg(m.request(name)); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if err := s.CloseSend(); err != nil {
		return "", err
	}
	resp := dynamicpb.NewMessage(m.desc.Output())
	err = s.RecvMsg(resp)
	return resp.String(), err
}

// ways returns the web protocols by which the method can be called, and their content types.
func (m method) ways() map[string]string {
	ways := map[string]string{
		"gRPC-Web": "application/grpc-web+proto", "gRPC-Web with JSON": "application/grpc-web+json",
		"Connect": "application/proto", "HTTP and JSON": "application/json",
	}
	if m.stream {
		ways["Connect"], ways["HTTP and JSON"] = "application/connect+proto", "application/connect+json"
	}
	return ways
}

// byHTTP calls a method by one of the web protocols. It returns the whole answer with its status.
func (m method) byHTTP(ctx context.Context, t *testing.T, web, contentType, token, name string) string {
	t.Helper()
	encode := proto.Marshal
	if strings.HasSuffix(contentType, "json") {
		encode = protojson.Marshal
	}
	body, err := encode(m.request(name))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "application/proto" && contentType != "application/json" {
		body = []byte(envelope(string(body)))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+web+m.full, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true) // bidirectional streams need it
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	part := make([]byte, 4096)
	n, _ := io.ReadFull(resp.Body, part) // admitted streams do not end
	text := resp.Header.Get("Grpc-Message") + "\n" + string(part[:n])
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return text
}

// TestEveryWayIn calls every method by every protocol, without a token, with a wrong one and with an expired one. All are
// refused with the same message. A valid token is accepted by all methods.
func TestEveryWayIn(t *testing.T) {
	g := startGuarded(t, samples("datafile"), samples("teehistorian"), "good\nold expires=2020-01-01\n")
	want := access.ErrUnauthenticated.Error()
	for _, m := range methodsOf(t, g.daemon) {
		if !access.Known(m.full) {
			t.Errorf("nobody has decided what it takes to call %s: see service/access/grpc.go", m.full)
		}
		for what, token := range map[string]string{"no": "", "a wrong": "wrong", "an expired": "old"} {
			for way, conn := range map[string]*grpc.ClientConn{"gRPC": g.conn, "gRPC on the web's listener": g.viaWeb} {
				_, err := m.byGRPC(as(timeout(t), token), conn, name("x"))
				if s := status.Convert(err); s.Code() != codes.Unauthenticated || s.Message() != want || len(s.Details()) > 0 {
					t.Errorf("%s by %s with %s token: %v", m.full, way, what, err)
				}
			}
			for way, contentType := range m.ways() {
				got := m.byHTTP(timeout(t), t, g.web, contentType, token, name("x"))
				if !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
					t.Errorf("%s by %s with %s token: %q", m.full, way, what, got)
				}
			}
		}
		if _, err := m.byGRPC(as(timeout(t), "good"), g.conn, name("x")); status.Code(err) == codes.Unauthenticated ||
			status.Code(err) == codes.PermissionDenied {
			t.Errorf("%s with a good token: %v", m.full, err)
		}
	}
}

// TestOutsideOfScope requests replays below a root that the token does not cover. It tries every method, with the plain names
// and with other names that lead there. The answer is the same as for a missing file, and reveals nothing of that root.
func TestOutsideOfScope(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copyIn(t, dir, finishedSample)
	secret := t.TempDir()
	write(t, filepath.Join(secret, "secret.teehistorian"), read(t, finishedSample))
	write(t, filepath.Join(secret, "sub", "deep.map"), read(t, find(t, samples("datafile"), ".map")[0]))
	if err := os.Symlink(filepath.Join(secret, "secret.teehistorian"), filepath.Join(dir, "link.teehistorian")); err != nil {
		t.Fatal(err)
	}
	g := startGuarded(t, dir, secret, "all\nsome roots="+alias+"\nreader allow=read\nmaps formats=datafile\n")
	names := []string{
		others, others + "/secret.teehistorian", others + "/sub", others + "/sub/deep.map", others + "/nothing", others + "/.hidden",
		alias + "/../" + others + "/secret.teehistorian", "/" + others + "/secret.teehistorian", "../" + others,
		name("link.teehistorian"), secret + "/secret.teehistorian", name("..", "..", "etc", "passwd"),
	}
	for _, m := range methodsOf(t, g.daemon) {
		if !strings.HasPrefix(m.full, "/replayd.v1.") {
			continue
		}
		for _, n := range names {
			text, err := m.byGRPC(as(timeout(t), "some"), g.conn, n)
			takes := proto.Size(m.request(n)) > 0 && access.PowerOf(m.full) == access.Read
			if want := "\"" + n + "\": not found"; takes && (status.Code(err) != codes.NotFound || status.Convert(err).Message() != want) {
				t.Errorf("%s of %q: %v, want %s", m.full, n, err, want)
			}
			for way, contentType := range m.ways() {
				got := strings.ReplaceAll(m.byHTTP(timeout(t), t, g.web, contentType, "some", n), `\"`, `"`)
				if takes && !strings.Contains(got, "\""+n+"\": not found") {
					t.Errorf("%s of %q by %s: %q", m.full, n, way, got)
				}
				text += strings.ReplaceAll(got, n, "")
			}
			if strings.Contains(text, "secret") || strings.Contains(text, others) {
				t.Errorf("%s of %q names the other root: %s", m.full, n, text)
			}
		}
		text, err := m.byGRPC(as(timeout(t), "some"), g.conn, "")
		if strings.Contains(text, others) {
			t.Errorf("%s names the other root: %s %v", m.full, text, err)
		}
		if text, _ := m.byGRPC(as(timeout(t), "all"), g.conn, ""); m.desc.Name() == "ListReplays" && !strings.Contains(text, others) {
			t.Errorf("the test proves nothing: %s", text)
		}
	}

	// A power, and formats.
	err := uploadPieces(as(timeout(t), "reader"), g.client, read(t, finishedSample), 1000)
	if s := status.Convert(err); s.Code() != codes.PermissionDenied || s.Message() != access.ErrForbidden.Error() {
		t.Errorf("an upload of who may only read: %v", err)
	}
	if err := uploadPieces(as(timeout(t), "maps"), g.client, read(t, finishedSample), 1000); status.Code(err) != codes.PermissionDenied {
		t.Errorf("an upload of another format: %v", err)
	}
	if err := uploadPieces(as(timeout(t), "some"), g.client, read(t, finishedSample), 1000); err != nil {
		t.Errorf("an upload: %v", err)
	}
	for _, formats := range [][]replaydv1.Format{nil, {replaydv1.Format_FORMAT_TEEHISTORIAN}} {
		list, err := g.client.ListReplays(as(timeout(t), "maps"), &replaydv1.ListReplaysRequest{Formats: formats})
		if want := 1 - len(formats); err != nil || len(list.GetReplays()) != want {
			t.Errorf("maps among %v: %v %v, want %d", formats, list, err, want)
		}
	}
	missing := name(filepath.Base(finishedSample))
	s := g.Session(as(timeout(t), "maps"), &replaydv1.StreamEventsRequest{Replay: missing}, nil)
	if status.Code(s.Err) != codes.NotFound || status.Convert(s.Err).Message() != "\""+missing+"\": not found" {
		t.Errorf("a replay of another format: %v", s.Err)
	}
}

// TestPowers calls every method by every protocol, with tokens that lack only the required power. All calls are refused with
// the same message.
func TestPowers(t *testing.T) {
	g := startGuarded(t, samples("datafile"), samples("teehistorian"), "reads allow=read\nuploads allow=upload\nmeasures allow=metrics\nmaps roots="+alias+" allow=metrics,debug\n")
	powers := map[string]access.Power{"reads": access.Read, "uploads": access.Upload, "measures": access.Metrics, "maps": access.Metrics | access.Debug}
	refused := 0
	for _, m := range methodsOf(t, g.daemon) {
		for token, has := range powers {
			takes := access.PowerOf(m.full)
			if has&takes == takes {
				continue
			}
			refused++
			for way, conn := range map[string]*grpc.ClientConn{"gRPC": g.conn, "gRPC on the web's listener": g.viaWeb} {
				_, err := m.byGRPC(as(timeout(t), token), conn, name("x"))
				if s := status.Convert(err); s.Code() != codes.PermissionDenied || s.Message() != access.ErrForbidden.Error() || len(s.Details()) > 0 {
					t.Errorf("%s by %s with token %s: %v", m.full, way, token, err)
				}
			}
			for way, contentType := range m.ways() {
				if got := m.byHTTP(timeout(t), t, g.web, contentType, token, name("x")); !strings.Contains(got, access.ErrForbidden.Error()) {
					t.Errorf("%s by %s with token %s: %q", m.full, way, token, got)
				}
			}
		}
	}
	if refused < 15 {
		t.Errorf("only %d were to be refused", refused)
	}
}

// TestScopeOfWhatIsFound: files in a root that the token does not cover are not found by the cursor of a moved file, as a
// successor, as the map of a game, or by a watch.
func TestScopeOfWhatIsFound(t *testing.T) {
	t.Parallel()
	dir, secret := t.TempDir(), t.TempDir()
	first := gameOf{number: 1, server: "s", start: time.Now().Add(-time.Hour), killed: true}
	next := gameOf{number: 2, prev: 1, server: "s", start: time.Now()}
	write(t, filepath.Join(dir, first.file()), first.data(t))
	write(t, filepath.Join(secret, next.file()), next.data(t))
	g := startGuarded(t, dir, secret, "all\nsome roots="+alias+"\n")
	replay := name(first.file())

	// Not even who sees both roots gets from one to the other: a lineage crosses no border unless the operator says so.
	req := &replaydv1.StreamEventsRequest{Replay: replay, Follow: true, FollowSuccessors: true}
	for _, token := range []string{"all", "some"} {
		ctx, cancel := context.WithTimeout(as(context.Background(), token), time.Second)
		g.Session(ctx, req, func(resp *replaydv1.StreamEventsResponse) bool {
			if strings.Contains(resp.String(), others) || strings.Contains(resp.String(), uuidOf(2)) {
				t.Errorf("with token %q the file in the other root is found: %v", token, resp)
			}
			return true
		})
		cancel()
	}
	// A cursor of the other root's replay.
	var cursor []byte
	g.Session(as(timeout(t), "all"), &replaydv1.StreamEventsRequest{Replay: others + "/" + next.file()}, func(resp *replaydv1.StreamEventsResponse) bool {
		cursor = resp.GetCursor()
		return true
	})
	for token, gone := range map[string]string{"some": others + "/gone.teehistorian", "all": name("gone.teehistorian")} {
		s := g.Session(as(timeout(t), token), &replaydv1.StreamEventsRequest{
			Replay: gone, Start: &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: cursor}},
		}, nil)
		if want := `"` + gone + `": not found`; status.Convert(s.Err).Message() != want {
			t.Errorf("a cursor of the other root: %v, want %s", s.Err, want)
		}
	}

	watch, err := g.client.WatchReplays(as(timeout(t), "some"), &replaydv1.WatchReplaysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for { // the existing files
		resp, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(resp.String(), others) {
			t.Fatalf("a watcher is shown the other root: %v", resp)
		}
		if resp.GetInitialDone() {
			break
		}
	}
	every, err := g.client.WatchReplays(as(timeout(t), "all"), &replaydv1.WatchReplaysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(secret, "new.teehistorian"), gameOf{number: 3, server: "s", start: time.Now()}.data(t))
	for { // first wait until the daemon knows the file
		resp, err := every.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(resp.String(), others+"/new.teehistorian") {
			break
		}
	}
	write(t, filepath.Join(dir, "new.teehistorian"), gameOf{number: 4, server: "s", start: time.Now()}.data(t))
	for {
		resp, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(resp.String(), others) {
			t.Fatalf("a watcher gets a change of the other root: %v", resp)
		}
		if strings.Contains(resp.String(), name("new.teehistorian")) {
			break
		}
	}
}

// TestTokensChange: a call ends when its token is removed or the token's scope changes. Other calls continue. An invalid token
// file changes nothing.
func TestTokensChange(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, samples("teehistorian", "killed", "d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian"))
	g := startGuarded(t, dir, t.TempDir(), "stays\ngoes\nchanges\n")
	follow := func(token string) grpc.ServerStreamingClient[replaydv1.StreamEventsResponse] {
		s, err := g.client.StreamEvents(as(timeout(t), token), &replaydv1.StreamEventsRequest{Replay: replay, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		for {
			resp, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if resp.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
				return s
			}
		}
	}
	stays, goes, changes := follow("stays"), follow("goes"), follow("changes")
	write(t, g.tokens, []byte("this is no file of tokens\n"))
	if err := g.gate.Reload(); err == nil {
		t.Fatal("no error")
	}
	if _, err := g.client.GetServerInfo(as(timeout(t), "goes"), nil); err != nil {
		t.Errorf("after a bad file: %v", err)
	}
	write(t, g.tokens, []byte("stays\nchanges roots="+alias+"\n"))
	if err := g.gate.Reload(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		s    grpc.ServerStreamingClient[replaydv1.StreamEventsResponse]
		want codes.Code
	}{{goes, codes.Unauthenticated}, {changes, codes.Unavailable}} {
		for {
			_, err := test.s.Recv()
			if err == nil {
				continue
			}
			if status.Code(err) != test.want {
				t.Errorf("%v, want %v", err, test.want)
			}
			break
		}
	}
	g.stop()
	for {
		resp, err := stays.Recv()
		if err != nil {
			t.Fatalf("who was not touched: %v", err)
		}
		if resp.GetEnd().GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING {
			return
		}
	}
}

// TestAudit: the log line of each call has the caller, the address, the replay, the number of bytes and the result.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	g := startGuarded(t, dir, t.TempDir(), "secret-token name=grafana\n")
	s := g.Session(as(timeout(t), "secret-token"), &replaydv1.StreamEventsRequest{Replay: replay}, nil)
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	if err := uploadPieces(as(timeout(t), "secret-token"), g.client, read(t, finishedSample), 1000); err != nil {
		t.Fatal(err)
	}
	_, _ = g.client.GetServerInfo(timeout(t), nil)
	g.stop()
	sent := 0
	for _, r := range s.Responses {
		sent += len(r)
	}
	log := g.log.String()
	for _, want := range []string{
		fmt.Sprintf(" sent=%d received=0", sent),
		"who=grafana address=bufconn method=replayd.v1.ReplayService/StreamEvents code=OK", "received=12392", "replay=" + replay,
		`who="" address=bufconn method=replayd.v1.ReplayService/GetServerInfo code=Unauthenticated`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "secret-token") {
		t.Error("the log has a token")
	}
}

// TestWebHost: requests of a page whose host name resolves to an address of this machine are refused.
func TestWebHost(t *testing.T) {
	web := startWeb(t)
	for host, want := range map[string]int{"": http.StatusOK, "localhost:80": http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		req, err := http.NewRequestWithContext(timeout(t), http.MethodPost, "http://"+web+replaydv1.ReplayService_GetServerInfo_FullMethodName, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Close = host, true
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("for host %q: %s, want %d", host, resp.Status, want)
		}
	}
}

// oneLineage returns the lineages of roots that belong together.
func oneLineage(t *testing.T, aliases ...string) index.Lineages {
	t.Helper()
	sources := map[string]bool{}
	for _, alias := range aliases {
		sources[alias] = false
	}
	l, err := index.ParseLineages([]string{strings.Join(aliases, ",")}, sources)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
