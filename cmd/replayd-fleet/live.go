package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/fleet/shipment/mirror"
	"github.com/replayd/replayd/fleet/workdir"
	"github.com/replayd/replayd/internal/natsconn"
	"github.com/replayd/replayd/service/catalog"
)

// livePlace is a stream of NATS as a root.
type livePlace struct {
	natsconn.Place

	source   string
	archive  string // the URL of a bucket, or empty
	maxBytes int64  // 0 for the default
	share    int64  // max_source_bytes; 0 for the default
}

// parseLive parses the URL of a live root. Its errors do not repeat the URL.
func parseLive(text string) (livePlace, error) {
	place, err := natsconn.Parse(text)
	if err != nil {
		return livePlace{}, err
	}
	if place.Stream == "" {
		place.Stream = shipment.StreamName
	}
	p := livePlace{Place: place}
	if err := shipment.CheckStream(place.Stream); err != nil {
		return p, err
	}
	for name, list := range place.Values {
		if !slices.Contains([]string{"source", "archive", "max_bytes", "max_source_bytes"}, name) { // even its name may be a secret
			return p, errors.New("a parameter is none of archive, max_bytes, max_source_bytes, server, source")
		}
		if len(list) != 1 {
			return p, fmt.Errorf("the parameter %s is given twice", name)
		}
		switch value := list[0]; name {
		case "source":
			if err := shipment.CheckSource(value); err != nil {
				return p, err
			}
			p.source = value
		case "archive":
			if !bucket.Is(value) {
				return p, errors.New("the parameter archive: want s3://BUCKET/PATH")
			}
			if _, err := bucket.Parse(value); err != nil {
				return p, fmt.Errorf("the parameter archive: %w", err)
			}
			p.archive = value
		default:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < shipment.MaxChunk {
				return p, fmt.Errorf("the parameter %s: want a number of bytes, %d or more", name, shipment.MaxChunk)
			}
			if name == "max_bytes" {
				p.maxBytes = n
			} else {
				p.share = n
			}
		}
	}
	return p, nil
}

// streams holds streams of NATS as roots of a daemon.
type streams struct {
	natsconn.Credentials

	LiveDir string `help:"Where the files of roots of NATS lie while they are served, in a directory of their own. Default: below the system's directory for temporary files." placeholder:"DIR"`

	buckets *buckets                  `kong:"-"` // for archives
	mirrors map[string]*mirror.Mirror // by alias
	stops   []func()
}

// Validate rejects invalid flags.
func (l *streams) Validate() error { return l.Credentials.Check() }

// Is implements command.Places.
func (*streams) Is(name string) bool { return natsconn.Is(name) }

// Check implements command.Places.
func (*streams) Check(url string) error {
	_, err := parseLive(url)
	return err
}

// Sources implements command.Places.
func (*streams) Sources() bool { return true }

// Root implements command.Places. It begins to mirror a stream.
func (l *streams) Root(ctx context.Context, alias, url string, d command.Daemon) (catalog.Store, error) {
	place, err := parseLive(url)
	if err != nil {
		return nil, command.Usage(err)
	}
	if l.mirrors == nil {
		l.mirrors = map[string]*mirror.Mirror{}
		d.Metrics.MustRegister(l)
	}
	dir, done, err := l.directory(alias, place)
	if err != nil {
		return nil, fmt.Errorf("--live-dir: %w", err)
	}
	l.stops = append(l.stops, done)
	options := mirror.Options{
		Dir: dir, Name: place.String(), Source: place.source, MaxBytes: place.maxBytes, SourceBytes: place.share, Keep: l.LiveDir != "",
		Log: d.Log.With("root", alias),
	}
	if place.archive != "" {
		store, err := openBucket(ctx, place.archive, l.buckets.options(alias, d))
		if err != nil {
			return nil, err
		}
		options.Archive = store
	}
	conn, err := natsconn.Connect(place.Servers, "replayd root "+alias, l.Credentials, nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				d.Log.WarnContext(ctx, "the connection to NATS is lost; the files of a live root wait", "root", alias, "error", natsconn.Explain(err))
			}
		}))
	if err != nil {
		return nil, unreachableError{natsconn.Explain(err)}
	}
	options.Open = func(ctx context.Context) (*shipment.Stream, error) {
		if !conn.IsConnected() {
			return nil, natsconn.Explain(nats.ErrNoServers)
		}
		return shipment.Open(ctx, conn, shipment.Options{Name: place.Stream, Existing: true})
	}
	m, err := mirror.New(options)
	if err != nil {
		conn.Close()
		return nil, err
	}
	l.mirrors[alias] = m
	running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // also while the daemon drains
	var wg sync.WaitGroup
	wg.Go(func() { m.Run(running) })
	l.stops = append(l.stops, func() {
		cancel()
		conn.Close()
		wg.Wait()
		_ = m.Close()
	})
	return m, nil
}

// directory makes or finds the directory for the files of a root. With --live-dir they are kept for the next daemon with the same root.
// done is called when nobody uses them any more.
func (l *streams) directory(alias string, place livePlace) (dir string, done func(), err error) {
	name := strings.ReplaceAll(alias, ".", "_")
	if l.LiveDir != "" {
		sum := sha256.Sum256([]byte(place.Stream + "/" + place.source))
		return workdir.Keep(l.LiveDir, fmt.Sprintf("live-%s-%x", name, sum[:4]))
	}
	work, err := workdir.New(filepath.Join(os.TempDir(), "replayd-live"))
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(work.Path(), name)
	return dir, work.Close, os.Mkdir(dir, 0o700)
}

// Close implements command.Places. It ends all mirrors, and removes files that are not kept.
func (l *streams) Close() {
	for _, stop := range slices.Backward(l.stops) {
		stop()
	}
}

var (
	liveReady = prometheus.NewDesc("replayd_live_ready",
		"1 once everything was read that a live root's stream had, by root.", []string{"root"}, nil)
	liveFiles    = prometheus.NewDesc("replayd_live_files", "Files of a live root that are mirrored, by root.", []string{"root"}, nil)
	liveBytes    = prometheus.NewDesc("replayd_live_bytes", "Bytes of the mirrored files of a live root, by root.", []string{"root"}, nil)
	liveMessages = prometheus.NewDesc("replayd_live_messages_total",
		"Messages of a live root's stream, by root and result: taken; ignored because no sender writes them; or skipped because there was no room "+
			"for them, to be read again.", []string{"root", "result"}, nil)
	liveWaiting = prometheus.NewDesc("replayd_live_files_waiting", "Files of a live root that wait for room, by root.", []string{"root"}, nil)
	liveBehind  = prometheus.NewDesc("replayd_live_sources_behind", "Sources of a live root whose files wait for room, by root.", []string{"root"}, nil)
)

// Describe implements prometheus.Collector.
func (l *streams) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{liveReady, liveFiles, liveBytes, liveMessages, liveBehind, liveWaiting} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (l *streams) Collect(c chan<- prometheus.Metric) {
	for alias, m := range l.mirrors {
		n := m.Figures()
		ready := 0.0
		if n.Ready {
			ready = 1
		}
		c <- prometheus.MustNewConstMetric(liveReady, prometheus.GaugeValue, ready, alias)
		c <- prometheus.MustNewConstMetric(liveFiles, prometheus.GaugeValue, float64(n.Files), alias)
		c <- prometheus.MustNewConstMetric(liveBytes, prometheus.GaugeValue, float64(n.Bytes), alias)
		c <- prometheus.MustNewConstMetric(liveMessages, prometheus.CounterValue, float64(n.Messages), alias, "taken")
		c <- prometheus.MustNewConstMetric(liveMessages, prometheus.CounterValue, float64(n.Ignored), alias, "ignored")
		c <- prometheus.MustNewConstMetric(liveMessages, prometheus.CounterValue, float64(n.Skipped), alias, "skipped")
		c <- prometheus.MustNewConstMetric(liveBehind, prometheus.GaugeValue, float64(n.Behind), alias)
		c <- prometheus.MustNewConstMetric(liveWaiting, prometheus.GaugeValue, float64(n.Waiting), alias)
	}
}
