package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/h2guard"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/watch"
)

type serveCmd struct {
	Config         configFile    `help:"Read flags that are not given from this file: lines NAME = VALUE." type:"existingfile" placeholder:"FILE" env:"-"`
	Root           []string      `help:"A directory to serve, and the alias that its replays' names start with. replayd-fleet also serves s3://BUCKET/PATH, and nats://HOST:PORT/STREAM of replayd-ship. Repeatable. Without --root, the bundled samples are served under samples/." placeholder:"ALIAS=DIR"`
	Listen         string        `help:"The address to serve gRPC on. Any address but loopback requires TLS or --insecure." default:"127.0.0.1:7171" placeholder:"HOST:PORT"`
	WebListen      string        `help:"The address to serve browsers on: the page, plain HTTP, Connect and gRPC-Web. none disables it. Default: 127.0.0.1:7170, or none when that port is in use." placeholder:"HOST:PORT"`
	WebOrigin      []string      `help:"An origin whose pages may call --web-listen, such as https://example.org, or * for all. Repeatable." placeholder:"ORIGIN"`
	Assets         string        `help:"A directory with images of maps for the page: docs/page.md says which." type:"existingdir" placeholder:"DIR"`
	MetricsListen  string        `help:"The address to serve Prometheus metrics on, under /metrics. Default: disabled." placeholder:"HOST:PORT"`
	DebugListen    string        `help:"The address to serve profiles of the process on, under /debug/pprof/. Default: disabled." placeholder:"HOST:PORT"`
	MaxInflated    int64         `help:"The maximum size of a compressed replay once inflated, in bytes." default:"17179869184"`
	MaxUpload      int64         `help:"The maximum size of an upload, in bytes." default:"1073741824"`
	Watch          watch.Mode    `help:"How to detect that files grow: auto, inotify or poll." default:"auto"`
	Index          string        `help:"Store the index of the replays in this file, so that a restart need not build it again. Default: in memory." placeholder:"FILE"`
	Subscriptions  string        `help:"Keep the subscriptions that clients name in this file. Needs --index. Default: none can be named." placeholder:"FILE"`
	SurveyBudget   float64       `help:"The share of one processor, 0 to 1, that background decoding may use. It finds facts that headers do not contain, such as players and the end." default:"0.1" placeholder:"SHARE"`
	RevealSecrets  Secrets       `help:"Do not redact secrets: all, or some of connection_id, rcon_arguments, chat_arguments, passwords, antibot, private_talk, unreadable, battle_lobby, voice." placeholder:"NAMES"`
	PseudonymKey   string        `help:"A file with a key of at least 32 bytes, from which pseudonyms of connection ids are made. A missing file is written with a new key. Without the flag there are none." type:"path" placeholder:"FILE"`
	DrainTimeout   time.Duration `help:"How long streams may take to end at shutdown." default:"10s"`
	UntilStdinEnds bool          `help:"End when standard input ends. For programs that run a daemon of their own, which then ends with them."`
	Lineage        []string      `help:"Roots whose replays may succeed one another, separated by commas: ALIAS, or ALIAS/SOURCE in a root of NATS. Without it a replay is only succeeded in its own root, and source. Repeatable." placeholder:"ALIAS,ALIAS" sep:"none"`
	Grpcurl        string        `help:"The grpcurl command to print in the example lines." default:"grpcurl" hidden:""`
	LogFlags
	kong.Plugins // of the program

	program  Program
	demo     []catalog.Root // the roots of a demonstration, in place of those of flags
	lineages index.Lineages // of Lineage

	Broadcasts broadcasts `embed:""`
	Limits     limits     `embed:""`
	Security   security   `embed:""`
}

// Validate rejects invalid flags, before the daemon opens anything. The error has all of them.
func (c *serveCmd) Validate() error {
	errs := c.invalidPlaces()
	wrong := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, origin := range c.WebOrigin {
		wrong(!isOrigin(origin), "--web-origin %s: want SCHEME://HOST, such as https://example.org, without a path, or *", origin)
	}
	wrong(len(c.WebOrigin) > 0 && c.web() == "", "--web-origin needs --web-listen")
	wrong(c.MaxInflated < 1, "--max-inflated %d: must be 1 or more", c.MaxInflated)
	wrong(c.MaxUpload < 1, "--max-upload %d: must be 1 or more", c.MaxUpload)
	wrong(c.Subscriptions != "" && c.Index == "", "--subscriptions needs --index: a subscription goes on by the numbers that the index gives replays")
	wrong(c.SurveyBudget < 0 || c.SurveyBudget > 1, "--survey-budget %v: must be 0 to 1", c.SurveyBudget)
	wrong(c.DrainTimeout <= 0, "--drain-timeout %v: must be positive", c.DrainTimeout)
	for _, flags := range c.Plugins {
		if v, ok := flags.(interface{ Validate() error }); ok {
			errs = append(errs, v.Validate())
		}
	}
	return errors.Join(append(errs, c.Limits.check(), c.Security.check(c.Listen, c.web(), c.MetricsListen, c.DebugListen, c.Broadcasts.BroadcastListen))...)
}

// invalidPlaces returns what is wrong with addresses and roots.
func (c *serveCmd) invalidPlaces() (errs []error) {
	for _, listen := range []struct{ flag, addr string }{
		{"--listen", c.Listen}, {"--web-listen", c.web()}, {"--metrics-listen", c.MetricsListen}, {"--debug-listen", c.DebugListen},
		{"--broadcast-listen", c.Broadcasts.BroadcastListen},
	} {
		if err := CheckListen(listen.addr); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", listen.flag, listen.addr, err))
		}
	}
	dirs := map[string]string{} // of roots that are directories
	for _, root := range c.Root {
		alias, dir := splitRoot(root)
		places, err := c.program.places(dir)
		if places == nil {
			dirs[alias] = dir
		}
		switch {
		case anyURL.MatchString(root):
			errs = append(errs, errors.New("--root: a URL needs an alias: ALIAS=URL")) // without the URL, which may have secrets
		case err != nil:
			errs = append(errs, fmt.Errorf("--root %s: %w", alias, err))
		case places != nil:
			if err := places.Check(dir); err != nil {
				errs = append(errs, fmt.Errorf("--root %s: %w", alias, err))
			}
		case dir == "":
			errs = append(errs, fmt.Errorf("--root %s: the directory is missing", root))
		}
	}
	_, followed := c.Broadcasts.matches(dirs)
	_, pushed := c.Broadcasts.into(dirs)
	_, allowed := c.Broadcasts.allowed()
	errs = append(errs, followed, pushed, allowed)
	if err := c.parseLineages(); err != nil {
		errs = append(errs, fmt.Errorf("--lineage: %w", err))
	}
	return errs
}

// web returns the value of --web-listen. It is empty for none and where the flag is not set.
func (c *serveCmd) web() string {
	if c.WebListen == nowhere {
		return ""
	}
	return c.WebListen
}

// parseLineages parses Lineage.
func (c *serveCmd) parseLineages() (err error) {
	sources := map[string]bool{}
	for _, root := range c.Root {
		alias, dir := splitRoot(root)
		places, _ := c.program.places(dir) // Validate has checked it
		sources[alias] = places != nil && places.Sources()
	}
	c.lineages, err = index.ParseLineages(c.Lineage, sources)
	return err
}

// isOrigin reports whether text is an origin as browsers send it, or "*".
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return text == "*" || err == nil && u.Host != "" && strings.EqualFold(text, u.Scheme+"://"+u.Host)
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, con Console) error {
	log := c.Logger(con)
	if c.UntilStdinEnds {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() { // ends with the process at the latest
			defer cancel()
			_, _ = io.Copy(io.Discard, con.In)
		}()
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP) // before anything else, because an unhandled SIGHUP kills the process
	defer signal.Stop(again)
	registry := prometheus.NewRegistry()
	roots, clean, err := c.roots(ctx, Daemon{Log: log, Metrics: registry})
	if err != nil {
		return err
	}
	defer clean()
	cat, err := catalog.New(roots, catalog.Options{Limits: source.Limits{Inflated: c.MaxInflated}})
	if err != nil {
		return err
	}
	for root, err := range cat.Missing() {
		log.WarnContext(ctx, "a root cannot be read; it is served once it becomes readable", "root", root.Alias, "dir", root.Dir, "error", err)
	}
	broadcasts, err := c.Broadcasts.follow(ctx, roots, Daemon{Log: log, Metrics: registry})
	if err != nil {
		return err
	}
	defer broadcasts.wait()
	watcher, err := watch.New(watch.Options{Mode: c.Watch, Log: log})
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }()

	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gate, err := c.Security.gate(c.lineages.Roots(), log, registry)
	if err != nil {
		return err
	}
	hidden, err := secretsOf(c.RevealSecrets, c.PseudonymKey)
	if err != nil {
		return err
	}
	config := service.Config{
		Catalog: cat, Log: log, Gate: gate, Version: Version(), MaxInflated: c.MaxInflated,
		MaxUpload: c.MaxUpload, Secrets: hidden, Watcher: watcher,
		IndexPath: c.Index, SurveyBudget: c.SurveyBudget, Lineages: c.lineages, Broadcasts: broadcasts.follower,
	}
	if c.Assets != "" {
		assets, err := os.OpenRoot(c.Assets)
		if err != nil {
			return fmt.Errorf("opening --assets: %w", err)
		}
		defer func() { _ = assets.Close() }()
		config.Assets = assets
	}
	config.Subscriptions.Path = c.Subscriptions
	connections := c.Limits.apply(&config, log, registry)
	doors, err := c.doors(log, connections, h2guard.NewGuard(log, registry, gate.Believes))
	if err != nil {
		return err
	}
	defer doors.close()
	server, err := service.NewServer(config)
	if err != nil {
		return err
	}
	daemon := service.NewDaemon(server, registry, doors.options()...)
	var web *service.Web
	if doors.web != nil {
		if web, err = daemon.NewWeb(c.WebOrigin); err != nil {
			return err
		}
		log.InfoContext(ctx, "serving browsers", "address", doors.web.Addr().String())
	}
	if doors.metrics != nil {
		handler := gate.GuardHost(servesLocally(doors.metrics), gate.Handler(access.Metrics, metricsOf(registry)))
		defer doors.serve(doors.metrics, handler, "metrics", log)()
	}
	if doors.broadcast != nil {
		defer doors.serve(doors.broadcast, broadcasts.relay, "broadcasts", log)()
	}
	if doors.debug != nil {
		defer doors.serve(doors.debug, gate.GuardHost(servesLocally(doors.debug), gate.Handler(access.Debug, profiles())), "profiles", log)()
	}
	c.Security.warn(log, doors.grpc, doors.web, doors.metrics, doors.debug, doors.broadcast)
	defer reload(ctx, log, again, c.Security.reloadable(gate, doors.certs))()

	defer notify(ctx, log, c.DrainTimeout)()
	log.InfoContext(ctx, "serving", "address", doors.grpc.Addr().String(), "version", Version(), "roots", len(roots))
	var greeting sync.WaitGroup // the greeting waits for the index, and for the reader of the output
	greeting.Go(func() { c.greet(ctx, con, server, doors) })
	defer greeting.Wait()
	return daemon.Serve(ctx, doors.grpc, web, doors.web, c.DrainTimeout)
}

// LogFlags are the flags of a log.
type LogFlags struct {
	LogFormat string     `help:"The format of the log: text or json." enum:"text,json" default:"text"`
	LogLevel  slog.Level `help:"The lowest level to log: debug, info, warn or error." default:"info"`
}

// Logger returns the log, which goes to the console's errors.
func (f LogFlags) Logger(con Console) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(con.Err, options)
	if f.LogFormat == "json" {
		handler = slog.NewJSONHandler(con.Err, options)
	}
	return slog.New(access.Sampled(handler))
}

// Daemon holds what the roots of a daemon need.
type Daemon struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// roots opens the --root flags. Without any it unpacks the bundled samples into a temporary directory. clean undoes all of it.
func (c *serveCmd) roots(ctx context.Context, d Daemon) (roots []catalog.Root, clean func(), err error) {
	clean = func() {
		for _, places := range []Places{c.program.Objects, c.program.Streams} {
			if places != nil {
				places.Close()
			}
		}
	}
	for _, r := range c.Root {
		alias, dir := splitRoot(r)
		root := catalog.Root{Alias: alias, Dir: dir}
		places, err := c.program.places(dir)
		if err == nil && places != nil {
			root.Dir = ""
			root.Store, err = places.Root(ctx, alias, dir, d)
		}
		if err != nil {
			clean()
			return nil, nil, fmt.Errorf("--root %s: %w", alias, err)
		}
		roots = append(roots, root)
	}
	if len(roots) > 0 {
		return roots, clean, nil
	}
	if c.demo != nil {
		return c.demo, clean, nil
	}
	dir, err := samples()
	if err != nil {
		return nil, nil, err
	}
	return []catalog.Root{{Alias: "samples", Dir: filepath.Join(dir.Path(), "samples")}}, dir.Close, nil
}

// splitRoot splits a --root flag into alias and directory, or URL. Without an alias, the alias is the directory's base name.
func splitRoot(root string) (alias, dir string) {
	alias, dir, ok := strings.Cut(root, "=")
	if !ok {
		return filepath.Base(filepath.Clean(root)), root
	}
	return alias, dir
}

// greetFor is how long greet waits for a replay to name in its examples. With many files the index may not contain one yet.
const greetFor = 300 * time.Millisecond

// greet prints the address of the page and commands to try. Values that only the user can supply are in capitals.
func (c *serveCmd) greet(ctx context.Context, con Console, server *service.Server, doors *doors) {
	addr := doors.grpc.Addr().String()
	grpcurl := c.Grpcurl
	if c.Security.TLSCert == "" {
		grpcurl += " -plaintext"
	} else {
		grpcurl += " -cacert CA.pem"
		_, port, _ := net.SplitHostPort(addr) // a listener's own address
		addr = "HOST:" + port                 // the host must be the one that the certificate names
	}
	if c.Security.ClientCA != "" {
		grpcurl += " -cert CLIENT.pem -key CLIENT-KEY.pem"
	}
	if c.Security.TokenFile != "" {
		grpcurl += " -H 'authorization: Bearer TOKEN'"
	}
	if page := doors.page(); page != "" {
		_, _ = fmt.Fprintf(con.Out, "Open in a browser:\n  %s\n", page)
	}
	api := replaydv1.ReplayService_ServiceDesc.ServiceName
	_, _ = fmt.Fprintf(con.Out, "Try:\n  %s %s list\n  %s %s describe %s\n", grpcurl, addr, grpcurl, addr, api)
	ctx, cancel := context.WithTimeout(ctx, greetFor)
	defer cancel()
	page, err := server.ListReplays(ctx, &replaydv1.ListReplaysRequest{
		PageSize: 1, Formats: []replaydv1.Format{replaydv1.Format_FORMAT_TEEHISTORIAN},
	})
	if err != nil || len(page.GetReplays()) == 0 {
		return
	}
	name := page.GetReplays()[0].GetName()
	_, _ = fmt.Fprintf(con.Out, "  %s -d '{\"replay\": %q}' %s %s/GetReplay\n", grpcurl, name, addr, api)
	_, _ = fmt.Fprintf(con.Out,
		"  %s -d '{\"replay\": %q, \"include\": [{\"kinds\": [\"join\", \"player_new\", \"drop\"]}]}' %s %s/StreamEvents\n",
		grpcurl, name, addr, api)
}
