package main

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
)

// limits are what callers may take at once.
type limits struct {
	MaxMemory  size `help:"How much memory streams and uploads may take, in all, such as 512MiB. Default: half of what the process may have." default:"0" placeholder:"BYTES" group:"Limits"`
	MaxSpool   size `help:"How much of the temporary directory unpacked replays may take, in all. Default: half of what is free there." default:"0" placeholder:"BYTES" group:"Limits"`
	MaxCalls   int  `help:"How many calls that are no streams may run at once." default:"256" group:"Limits"`
	MaxFeeds   int  `help:"How many live replays may be followed at once." default:"256" group:"Limits"`
	MaxStreams int  `help:"How many streams may run at once." default:"1024" group:"Limits"`

	ClientShare float64 `help:"Which share of these one token, or one address of another machine, may take, above 0 to 1." default:"0.5" placeholder:"SHARE" group:"Limits"`

	MaxConnections     int           `help:"How many connections there may be. Default: 4096, or a quarter of the file descriptors." default:"0" group:"Limits"`
	AddressConnections int           `help:"How many connections there may be from one address of another machine." default:"64" group:"Limits"`
	SendTimeout        time.Duration `help:"How long a stream waits for a client that does not read." default:"1m" group:"Limits"`
	UploadTimeout      time.Duration `help:"How long an upload waits for a client that sends nothing." default:"1m" group:"Limits"`
}

// size is a number of bytes.
type size int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *size) UnmarshalText(text []byte) error {
	if string(text) == "0" {
		*s = 0
		return nil
	}
	n, err := access.ParseBytes(string(text))
	*s = size(n)
	return err
}

// check returns what makes no sense.
func (l *limits) check() error {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"--max-streams", l.MaxStreams}, {"--max-calls", l.MaxCalls}, {"--max-feeds", l.MaxFeeds}, {"--address-connections", l.AddressConnections},
	} {
		if n.value < 1 || n.value > math.MaxInt32 {
			return fmt.Errorf("%s %d: must be 1 to %d", n.flag, n.value, math.MaxInt32)
		}
	}
	switch {
	case l.MaxMemory != 0 && l.MaxMemory < leastMemory:
		return fmt.Errorf("--max-memory %d: must be 64MiB or more", l.MaxMemory)
	case l.MaxConnections < 0:
		return fmt.Errorf("--max-connections %d: must not be negative", l.MaxConnections)
	case !(l.ClientShare > 0) || l.ClientShare > 1:
		return fmt.Errorf("--client-share %v: must be above 0, to 1", l.ClientShare)
	case l.SendTimeout <= 0:
		return fmt.Errorf("--send-timeout %v: must be positive", l.SendTimeout)
	case l.UploadTimeout <= 0:
		return fmt.Errorf("--upload-timeout %v: must be positive", l.UploadTimeout)
	}
	return nil
}

// The defaults of what is shared, and what replayd takes besides.
const (
	defaultMemory  = 512 << 20
	leastMemory    = 64 << 20
	defaultSpool   = 4 << 30
	maxConnections = 4096
	fewDescriptors = 1024
)

// apply fills in defaults, logs the limits, and returns what the service needs.
func (l *limits) apply(c *service.Config, log *slog.Logger, metrics prometheus.Registerer) *admission.Connections {
	there := admission.There()
	admission.Tune(there)
	if l.MaxMemory == 0 {
		l.MaxMemory = defaultMemory
		if there > 0 {
			l.MaxMemory = size(max(there/2, leastMemory))
		}
	}
	if l.MaxSpool == 0 {
		l.MaxSpool = defaultSpool
		var fs syscall.Statfs_t
		if syscall.Statfs(os.TempDir(), &fs) == nil {
			l.MaxSpool = size(max(min(int64(fs.Bavail*uint64(fs.Bsize))/2, 64<<30), 1))
		}
	}
	descriptors := admission.Descriptors()
	if l.MaxConnections == 0 {
		l.MaxConnections = maxConnections
		if descriptors > 0 {
			l.MaxConnections = max(min(maxConnections, descriptors/4), 1)
		}
	}
	if descriptors > 0 && descriptors < fewDescriptors {
		log.Warn("there are few file descriptors: each connection and each replay takes one; raise the limit (ulimit -n)",
			"descriptors", descriptors, "max_connections", l.MaxConnections)
	}
	all := admission.Amounts{
		admission.Streams: int64(l.MaxStreams), admission.Calls: int64(l.MaxCalls), admission.Feeds: int64(l.MaxFeeds),
		admission.Memory: int64(l.MaxMemory), admission.Spool: int64(l.MaxSpool),
	}
	each := all
	for i := range each {
		each[i] = int64(math.Ceil(float64(each[i]) * l.ClientShare))
	}
	c.MaxStreams, c.SendTimeout, c.UploadTimeout = l.MaxStreams, l.SendTimeout, l.UploadTimeout
	c.Admission = admission.New(admission.Limits{All: all, Caller: each})
	if os.Getenv("GOGC") == "" {
		c.Admission.Pace(func(percent int) { debug.SetGCPercent(percent) })
	}
	c.Turns = admission.NewTurns(runtime.GOMAXPROCS(0))
	proxies := &access.Gate{}
	if c.Gate != nil {
		proxies = c.Gate
	}
	connections := admission.NewConnections(l.MaxConnections, l.AddressConnections, func(a netip.Addr) bool {
		return a.IsLoopback() || proxies.Believes(a)
	}, log)
	connections.Register(metrics)
	log.Info("limits", "memory", int64(l.MaxMemory), "spool", int64(l.MaxSpool), "streams", l.MaxStreams,
		"connections", l.MaxConnections, "memory_there", there)
	return connections
}
