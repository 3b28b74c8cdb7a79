package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/internal/certtest"
	"github.com/replayd/replayd/internal/testlog"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRules(t *testing.T) {
	const hash = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // of "secret"
	for _, test := range []struct{ text, want string }{
		{"", "tokens holds no token"},
		{"# only this\n\n", "tokens holds no token"},
		{"a\nb # no comment", `tokens, line 2: "#" is no KEY=VALUE`},
		{"schlüssel", "tokens, line 1: a token is printable ASCII"},
		{"a\n\na", "tokens, line 3: the same is in an earlier line, too"},
		{"secret\n" + hash, "tokens, line 2: the same is in an earlier line, too"},
		{"certificate:", "tokens, line 1: certificate: wants a name"},
		{"sha256:12", "tokens, line 1: sha256: wants 64 hexadecimal digits"},
		{"a name=x\nb name=x", `tokens, line 2: name "x" is used in line 1, too`},
		{"a name=", "tokens, line 1: name has no value"},
		{"a name=ä", "tokens, line 1: name=ä: want up to 64"},
		{"a roots=x roots=y", "tokens, line 1: roots stands here twice"},
		{"a root=x", `tokens, line 1: unknown key "root"; the keys are: name, roots`},
		{"a formats=dem,demo", "tokens, line 1: formats=dem,demo: the formats are: "},
		{"a allow=write", "tokens, line 1: allow=write: what can be allowed is: read, upload, metrics, debug"},
		{"a streams=0", "tokens, line 1: streams=0: must be 1 or more"},
		{"a streams=x", "tokens, line 1: streams=x:"},
		{"a memory=-1", "tokens, line 1: memory=-1: want a number of bytes"},
		{"a spool=9000000TiB", "tokens, line 1: spool=9000000TiB: want a number of bytes"},
		{"a rate=5", "tokens, line 1: rate=5: want calls a second"},
		{"a rate=NaN/s", "tokens, line 1: rate=NaN/s: want calls a second"},
		{"a roots=live", "tokens, line 1: roots: of live,archive, which --lineage joins, all must be named or none"},
		{"a roots=live,archive\nb\nc roots=x,archive", "tokens, line 3: roots: of live,archive, which --lineage joins"},
		{"a roots=x,second", "tokens, line 1: roots: of first,second,third, which --lineage joins"},
		{"a roots=first,third", "tokens, line 1: roots: of first,second,third, which --lineage joins"},
		{"a expires=tomorrow", "tokens, line 1: expires=tomorrow: want a date"},
	} {
		if _, err := ParseRules(test.text, "tokens", [][]string{{"live", "archive"}, {"first", "second", "third"}}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
	r, err := ParseRules(hash+" name=x roots=a,b formats=dem streams=3 memory=64MiB spool=1GiB rate=0.5/s expires=2030-01-02\n"+
		"\tplain\r\ncertificate:host.example allow=metrics\nsome roots=a allow=read,debug", "tokens", nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	g := r.find(Shown{Token: text("secret")})
	switch {
	case g == nil || g.Name != "x" || !g.Reaches("a/file") || !g.Reaches("b") || g.Reaches("c/a") || g.Reaches("ab/x"),
		!slices.Equal(g.Formats(), []decoders.Format{decoders.Dem}), !g.Sees(decoders.Dem) || g.Sees(decoders.Datafile) || g.Sees(decoders.Unknown),
		g.Quota != Quota{Streams: 3, Memory: 64 << 20, Spool: 1 << 30, Rate: 0.5},
		!g.Expires.Equal(time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)),
		!g.May(Read) || !g.May(Upload) || g.May(Metrics) || g.May(Debug):
		t.Errorf("got %+v", g)
	}
	if g := r.find(Shown{Token: text("plain")}); g == nil || !g.May(all) || g.Roots() != nil || g.Formats() != nil {
		t.Errorf("got %+v", g)
	}
	if g := r.find(Shown{Token: text("some")}); g == nil || !g.May(Debug) || g.May(Upload) {
		t.Errorf("got %+v", g)
	}
	for _, wrong := range []string{"", "Plain", hash, "certificate:host.example"} {
		if g := r.find(Shown{Token: &wrong}); g != nil {
			t.Errorf("%q is let in as %+v", wrong, g)
		}
	}
	cert := &x509.Certificate{DNSNames: []string{"other", "host.example"}}
	if g := r.find(Shown{Certificate: cert}); g == nil || g.Name != "host.example" || g.May(Read) {
		t.Errorf("got %+v", g)
	}
	if g := r.find(Shown{Certificate: cert, Token: text("wrong")}); g != nil {
		t.Error("a certificate makes a wrong token good")
	}
}

func FuzzRules(f *testing.F) {
	f.Add("a name=x roots=a,b formats=dem streams=3 memory=64MiB rate=0.5/s expires=2030-01-02 allow=read\nsha256:00\ncertificate:x")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRules(text, "f", nil)
		if err == nil && len(r.grants) == 0 {
			t.Error("no error and no token")
		}
	})
}

func newGate(t *testing.T, o Options) *Gate {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g, err := NewGate(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestExpiry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	put(t, file, "soon expires="+time.Now().Add(time.Hour).Format(time.RFC3339)+"\nlate expires=2020-01-01\n")
	g := newGate(t, Options{TokenFile: file})
	late, soon := "late", "soon"
	if _, err := g.Admit(Shown{Token: &late}); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("an expired token: %v", err)
	}
	grant, err := g.Admit(Shown{Token: &soon})
	if err != nil {
		t.Fatal(err)
	}
	// A running call ends at that moment.
	ctx, leave := g.enter(context.Background(), grant)
	defer leave()
	if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(grant.Expires) {
		t.Errorf("the call ends at %v %v, want %v", deadline, ok, grant.Expires)
	}
	if len(g.calls) != 1 {
		t.Errorf("%d calls", len(g.calls))
	}
	// The machine's clock is set back, and then forward beyond that moment.
	g.Expire(time.Now().Add(-24 * time.Hour))
	if ctx.Err() != nil {
		t.Errorf("when the clock is set back the call ends: %v", context.Cause(ctx))
	}
	g.Expire(grant.Expires)
	if !errors.Is(context.Cause(ctx), ErrRevoked) {
		t.Errorf("when the clock is set forward the call goes on: %v", context.Cause(ctx))
	}
	leave()
	if len(g.calls) != 0 {
		t.Errorf("%d calls after the last has ended", len(g.calls))
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAddress(t *testing.T) {
	var proxies []netip.Prefix
	for _, text := range []string{"10.0.0.0/8", "::1", "unix"} {
		p, err := ParseProxy(text)
		if err != nil {
			t.Fatal(err)
		}
		proxies = append(proxies, p)
	}
	trusting, none := &Gate{Options: Options{Proxies: proxies}}, &Gate{}
	tcp := func(s string) net.Addr { return textAddr(s) }
	for _, test := range []struct {
		g         *Gate
		peer      net.Addr
		forwarded []string
		want      string
	}{
		{none, tcp("192.0.2.1:80"), nil, "192.0.2.1"},
		{none, tcp("192.0.2.1:80"), []string{"198.51.100.1"}, "192.0.2.1"},
		{trusting, tcp("192.0.2.1:80"), []string{"198.51.100.1"}, "192.0.2.1"},
		{trusting, tcp("10.1.2.3:80"), []string{"198.51.100.1"}, "198.51.100.1"},
		{trusting, tcp("10.1.2.3:80"), []string{"1.2.3.4, 198.51.100.1", "10.0.0.9"}, "198.51.100.1"},
		{trusting, tcp("10.1.2.3:80"), []string{"1.2.3.4", "nonsense"}, "10.1.2.3"},
		{trusting, tcp("10.1.2.3:80"), nil, "10.1.2.3"},
		{trusting, tcp("[::1]:80"), []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{trusting, tcp("[::ffff:10.0.0.1]:80"), []string{"192.0.2.9"}, "192.0.2.9"},
		{trusting, &net.UnixAddr{Net: "unix"}, []string{"192.0.2.9"}, "192.0.2.9"},
		{none, &net.UnixAddr{Net: "unix"}, []string{"192.0.2.9"}, "unix"},
	} {
		if got := test.g.Address(test.peer, test.forwarded); got != test.want {
			t.Errorf("%v %v: %q, want %q", test.peer, test.forwarded, got, test.want)
		}
	}
	if _, err := ParseProxy("example.org"); err == nil {
		t.Error("no error")
	}
}

// TestNear: callers by loopback addresses and Unix sockets are on this machine.
func TestNear(t *testing.T) {
	for address, near := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "unix": true, "10.0.0.1": false, "2001:db8::1": false, "": false, "tcp": false} {
		if u := (&Use{Address: address}); u.Near() != near {
			t.Errorf("%q: %v", address, u.Near())
		}
	}
}

func TestHosts(t *testing.T) {
	for _, test := range []struct {
		host  string
		local bool
		list  []string
		want  bool
	}{
		{"localhost:8080", true, nil, true},
		{"127.0.0.1:8080", true, nil, true},
		{"[::1]:8080", true, nil, true},
		{"::1", true, nil, true},
		{"LOCALHOST.", true, nil, true},
		{"evil.example:8080", true, nil, false},
		{"localhost.evil.example", true, nil, false},
		{"192.0.2.1", true, nil, false},
		{"", true, nil, false},
		{"replays.example", true, []string{"Replays.Example"}, true},
		{"evil.example", false, nil, true},
		{"evil.example", false, []string{"replays.example"}, false},
		{"192.0.2.1:8080", false, []string{"replays.example"}, true},
	} {
		if got := HostAllowed(test.host, test.local, test.list); got != test.want {
			t.Errorf("%q, local %v, listed %v: %v", test.host, test.local, test.list, got)
		}
	}
}

// TestHandler: metrics and debugging require their powers, with the same tokens, and an allowed host name.
func TestHandler(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	put(t, file, "all\nmetrics allow=metrics\nlimited roots=a\ndemos formats=dem\nold expires=2020-01-01\n")
	g := newGate(t, Options{TokenFile: file})
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served")) })
	for _, test := range []struct {
		power       Power
		host, token string
		want        int
	}{
		{Metrics, "localhost", "", http.StatusUnauthorized},
		{Metrics, "localhost", "wrong", http.StatusUnauthorized},
		{Metrics, "localhost", "old", http.StatusUnauthorized},
		{Metrics, "localhost", "limited", http.StatusForbidden},
		{Metrics, "localhost", "demos", http.StatusForbidden},
		{Metrics, "localhost", "metrics", http.StatusOK},
		{Metrics, "localhost", "all", http.StatusOK},
		{Metrics, "evil.example", "all", http.StatusMisdirectedRequest},
		{Debug, "localhost", "", http.StatusUnauthorized},
		{Debug, "localhost", "metrics", http.StatusForbidden},
		{Debug, "localhost", "limited", http.StatusForbidden},
		{Debug, "localhost", "all", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+test.host+"/x", http.NoBody)
		if test.token != "" {
			r.Header.Set("Authorization", "bearer "+test.token)
		}
		w := httptest.NewRecorder()
		g.GuardHost(true, g.Handler(test.power, served)).ServeHTTP(w, r)
		if w.Code != test.want || (w.Body.String() == "served") != (test.want == http.StatusOK) {
			t.Errorf("%v of %s with token %q: %d %q, want %d", test.power, test.host, test.token, w.Code, w.Body, test.want)
		}
	}
}

// TestCalls: a method is called for who may call it, with a credential that is valid, and for nobody else.
func TestCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	put(t, file, "all\nmetrics allow=metrics\nreader allow=read\nold expires=2020-01-01\ncertificate:host.example allow=read\n")
	g := newGate(t, Options{TokenFile: file})
	cert := &x509.Certificate{DNSNames: []string{"host.example"}}
	verified := tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
	const read, upload = replaydv1.ReplayService_StreamEvents_FullMethodName, replaydv1.ReplayService_DecodeReplay_FullMethodName
	for _, test := range []struct {
		method, token string
		tls           *tls.ConnectionState
		want          codes.Code
	}{
		{read, "", nil, codes.Unauthenticated},
		{read, "wrong", nil, codes.Unauthenticated},
		{read, "old", nil, codes.Unauthenticated},
		{read, "metrics", nil, codes.PermissionDenied},
		{read, "reader", nil, codes.OK},
		{upload, "reader", nil, codes.PermissionDenied},
		{upload, "all", nil, codes.OK},
		{read, "", &verified, codes.OK},
		{upload, "", &verified, codes.PermissionDenied},
		{read, "wrong", &verified, codes.Unauthenticated},
		{read, "", &tls.ConnectionState{}, codes.Unauthenticated},
		{read, "", &tls.ConnectionState{PeerCertificates: verified.PeerCertificates}, codes.Unauthenticated}, // which nobody has verified
	} {
		ctx, r := t.Context(), httptest.NewRequest(http.MethodGet, "/x", http.NoBody)
		if test.token != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+test.token))
			r.Header.Set("Authorization", "Bearer "+test.token)
		}
		if test.tls != nil {
			ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{}, AuthInfo: credentials.TLSInfo{State: *test.tls}})
			r.TLS = test.tls
		}
		called := false
		err := g.StreamInterceptor(nil, asked{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: test.method}, func(any, grpc.ServerStream) error {
			called = true
			return nil
		})
		if status.Code(err) != test.want || called != (test.want == codes.OK) {
			t.Errorf("%s with token %q and %v: %v, called: %t", test.method, test.token, test.tls, err, called)
		}
		if test.method == upload {
			continue
		}
		w := httptest.NewRecorder()
		g.Handler(Read, http.NotFoundHandler()).ServeHTTP(w, r)
		if want := map[codes.Code]int{codes.OK: 404, codes.Unauthenticated: 401, codes.PermissionDenied: 403}[test.want]; w.Code != want {
			t.Errorf("HTTP with token %q and %v: %d, want %d", test.token, test.tls, w.Code, want)
		}
	}
}

// TestEverybody: without tokens everybody is let in, by the name that a certificate has.
func TestEverybody(t *testing.T) {
	g := newGate(t, Options{})
	for name, shown := range map[string]Shown{"": {}, "host": {Certificate: &x509.Certificate{Subject: pkix.Name{CommonName: "host"}}}} {
		if grant, err := g.Admit(shown); err != nil || grant.Name != name || !grant.May(Read|Upload) {
			t.Errorf("%q: %+v, %v", name, grant, err)
		}
	}
}

// certify writes a self-signed certificate and its key.
func certify(t *testing.T, name, cert, key string) {
	t.Helper()
	certificate, private, err := certtest.SelfSigned(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, cert, string(certificate))
	put(t, key, string(private))
}

// TestCertificates: new connections get the new certificate, and a bad one changes nothing.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	certify(t, "first", cert, key)
	c, err := NewCertificates(cert, key, cert)
	if err != nil {
		t.Fatal(err)
	}
	config, err := c.Config("h2")
	if err != nil {
		t.Fatal(err)
	}
	cache := tls.NewLRUClientSessionCache(4)
	served := func() string {
		t.Helper()
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		var wg sync.WaitGroup
		wg.Go(func() {
			conn := tls.Server(far, config)
			_, _ = conn.Write([]byte("x")) // this also sends the session tickets
		})
		mine, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			mine = tls.Certificate{}
		}
		conn := tls.Client(near, &tls.Config{
			InsecureSkipVerify: true, NextProtos: []string{"h2"}, ClientSessionCache: cache, ServerName: "daemon",
			Certificates: []tls.Certificate{mine},
		})
		one := make([]byte, 1)
		if _, err := conn.Read(one); err != nil {
			return err.Error()
		}
		state := conn.ConnectionState()
		_ = near.Close()
		wg.Wait()
		return state.PeerCertificates[0].Subject.CommonName + " by " + state.NegotiatedProtocol
	}
	if got := served(); got != "first by h2" {
		t.Fatalf("served %q", got)
	}
	put(t, cert, "nonsense")
	if err := c.Reload(); err == nil {
		t.Error("no error")
	}
	certify(t, "second", filepath.Join(dir, "cert2"), filepath.Join(dir, "key2"))
	for from, to := range map[string]string{"cert2": cert, "key2": key} {
		if err := os.Rename(filepath.Join(dir, from), to); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := served(); got != "second by h2" {
		t.Errorf("served %q", got)
	}
}

// TestAttend: files are read again on a signal, and when they change, in whatever way. An error is logged once.
func TestAttend(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file, "1")
	log := &testlog.Log{}
	read := make(chan error)
	looks := 0
	again := make(chan os.Signal)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		reloadOnChange(ctx, slog.New(slog.NewTextHandler(log, nil)), again, time.Millisecond, []Reloadable{
			{What: "this", Files: []string{file}, Reload: func() error { return <-read }, Look: func() { looks++ }},
		})
	})
	again <- os.Interrupt // after this reload the old file is known
	read <- nil
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil { // it was written in place, the same number of bytes
		t.Fatal(err)
	}
	read <- nil
	put(t, filepath.Join(dir, "new"), "2") // of the same size
	if err := os.Rename(filepath.Join(dir, "new"), file); err != nil {
		t.Fatal(err)
	}
	read <- nil
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	read <- errors.New("it is gone")
	again <- os.Interrupt
	read <- errors.New("it is still gone")
	cancel()
	wg.Wait()
	if looks < 4 {
		t.Errorf("it was looked %d times whether something has expired", looks)
	}
	if text := log.String(); strings.Count(text, "read again") != 3 || strings.Count(text, "stays in force") != 2 {
		t.Errorf("the log:\n%s", text)
	}
}

// asked is a call that sends one request.
type asked struct {
	grpc.ServerStream
	ctx     context.Context //nolint:containedctx // a call has one
	request proto.Message
}

func (a asked) Context() context.Context { return a.ctx }

func (a asked) RecvMsg(m any) error {
	proto.Merge(m.(proto.Message), a.request)
	return nil
}

// TestLogged: the line of a call has the name that it asked for, of a long one the beginning.
func TestLogged(t *testing.T) {
	name := strings.Repeat("x", maxLogged) + "yz"
	for _, request := range []proto.Message{&replaydv1.StreamEventsRequest{Replay: name}, &replaydv1.ListReplaysRequest{Directory: name}} {
		log := &testlog.Log{}
		g := newGate(t, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
		info := &grpc.StreamServerInfo{FullMethod: replaydv1.ReplayService_StreamEvents_FullMethodName}
		if err := g.StreamInterceptor(nil, asked{ctx: t.Context(), request: request}, info, func(_ any, s grpc.ServerStream) error {
			return s.RecvMsg(request.ProtoReflect().New().Interface())
		}); err != nil {
			t.Fatal(err)
		}
		if text := log.String(); !strings.Contains(text, " replay="+name[:maxLogged]+"\n") {
			t.Errorf("%T: the log:\n%s", request, text)
		}
	}
}

// TestSampled: of many equal lines some are logged, and the number of the dropped ones. Lines of other kinds are all logged.
func TestSampled(t *testing.T) {
	log := &testlog.Log{}
	l := slog.New(Sampled(slog.NewTextHandler(log, nil))).With("with", "this")
	for range 1000 {
		l.Info("call", "who", "flooder", "code", "Canceled")
	}
	for range 30 {
		l.Error("panic", "incident", "1")
	}
	l.Info("call", "who", "somebody", "code", "OK")
	for !strings.Contains(log.String(), "left out") {
		time.Sleep(time.Millisecond)
	}
	text := log.String()
	if n := strings.Count(text, "who=flooder code"); n < sampleBurst || n > 4*sampleBurst {
		t.Errorf("%d lines of a flood of 1000", n)
	}
	if strings.Count(text, "incident=1") != 30 || strings.Count(text, "somebody") != 1 || !strings.Contains(text, "lines=980") && !strings.Contains(text, "lines=9") {
		t.Errorf("the log:\n%s", text)
	}
}

// TestSampledSorts: a flood of lines that all differ is a flood, too.
func TestSampledSorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &testlog.Log{}
		l := slog.New(Sampled(slog.NewTextHandler(log, nil)))
		for i := range 10 * sampleSorts {
			l.Info("call", "who", i)
		}
		if n := strings.Count(log.String(), "who="); n != sampleSorts+sampleBurst {
			t.Errorf("%d lines, want %d", n, sampleSorts+sampleBurst)
		}
		time.Sleep(2 * sampleWindow)
		synctest.Wait()
	})
}
