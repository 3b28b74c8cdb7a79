package command

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/internal/hostos"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
)

// limits holds the flags that limit the resources that callers use at the same time.
type limits struct {
	MaxMemory  size `help:"The maximum memory for all streams and uploads together, such as 512MiB. Default: half of the memory available to the process." default:"0" placeholder:"BYTES" group:"Limits"`
	MaxSpool   size `help:"The maximum space for all unpacked replays and tables together in the temporary directory. Default: half of the free space there." default:"0" placeholder:"BYTES" group:"Limits"`
	MaxCalls   int  `help:"The maximum number of concurrent calls, streams excluded." default:"256" group:"Limits"`
	MaxFeeds   int  `help:"The maximum number of live replays followed at the same time." default:"256" group:"Limits"`
	MaxStreams int  `help:"The maximum number of concurrent streams." default:"1024" group:"Limits"`

	MaxTemporary  int           `help:"The maximum number of temporary replays, which clients have stored." default:"64" group:"Limits"`
	TemporaryLife time.Duration `help:"How long a temporary replay is kept at most. With 0 clients cannot store replays." default:"1h" group:"Limits"`

	MaxSubscriptions int           `help:"The maximum number of subscriptions that clients have named." default:"100" group:"Limits"`
	SubscriptionLife time.Duration `help:"How long a named subscription is kept that nobody uses." default:"720h" group:"Limits"`

	ClientShare float64 `help:"The share of these limits that one token, or one remote address, may use: above 0, at most 1." default:"0.5" placeholder:"SHARE" group:"Limits"`

	MaxConnections     int           `help:"The maximum number of connections. Default: 4096, or a quarter of the file descriptors if that is less." default:"0" group:"Limits"`
	AddressConnections int           `help:"The maximum number of connections from one remote address." default:"64" group:"Limits"`
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

// check returns an error for the first invalid limit.
func (l *limits) check() error {
	var errs []error
	wrong := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"--max-streams", l.MaxStreams}, {"--max-calls", l.MaxCalls}, {"--max-feeds", l.MaxFeeds},
		{"--max-temporary", l.MaxTemporary}, {"--max-subscriptions", l.MaxSubscriptions}, {"--address-connections", l.AddressConnections},
	} {
		wrong(n.value < 1 || n.value > math.MaxInt32, "%s %d: must be 1 to %d", n.flag, n.value, math.MaxInt32)
	}
	wrong(l.MaxMemory != 0 && l.MaxMemory < leastMemory, "--max-memory %d: must be 64MiB or more", l.MaxMemory)
	wrong(l.TemporaryLife < 0, "--temporary-life %v: must not be negative", l.TemporaryLife)
	wrong(l.SubscriptionLife <= 0, "--subscription-life %v: must be positive", l.SubscriptionLife)
	wrong(l.MaxConnections < 0, "--max-connections %d: must not be negative", l.MaxConnections)
	wrong(!(l.ClientShare > 0) || l.ClientShare > 1, "--client-share %v: must be above 0 and at most 1", l.ClientShare)
	wrong(l.SendTimeout <= 0, "--send-timeout %v: must be positive", l.SendTimeout)
	wrong(l.UploadTimeout <= 0, "--upload-timeout %v: must be positive", l.UploadTimeout)
	return errors.Join(errs...)
}

// Defaults and bounds of the limits.
const (
	defaultMemory  = 512 << 20 // --max-memory where the memory available to the process is not known
	leastMemory    = 64 << 20
	defaultSpool   = 4 << 30 // --max-spool where the free space is not known
	maxConnections = 4096

	checkpointBytes = 64 << 20 // for checkpoints, but at most an eighth of --max-memory
	fewDescriptors  = 1024     // with fewer file descriptors, the daemon logs a warning
)

// apply fills in defaults, logs the limits and sets them in c. It returns the connection limiter.
func (l *limits) apply(c *service.Config, log *slog.Logger, metrics prometheus.Registerer) *admission.Connections {
	available := admission.There()
	admission.Tune(available)
	if l.MaxMemory == 0 {
		l.MaxMemory = defaultMemory
		if available > 0 {
			l.MaxMemory = size(max(available/2, leastMemory))
		}
	}
	if l.MaxSpool == 0 {
		l.MaxSpool = defaultSpool
		if free, known := hostos.Free(os.TempDir()); known {
			l.MaxSpool = size(max(min(free/2, 64<<30), 1))
		}
	}
	descriptors := hostos.Descriptors()
	if l.MaxConnections == 0 {
		l.MaxConnections = maxConnections
		if descriptors > 0 {
			l.MaxConnections = max(min(maxConnections, descriptors/4), 1)
		}
	}
	if descriptors > 0 && descriptors < fewDescriptors {
		log.Warn("the limit of file descriptors is low: each connection and each replay uses one; raise it (ulimit -n)",
			"descriptors", descriptors, "max_connections", l.MaxConnections)
	}
	c.CheckpointBytes = int(min(checkpointBytes, l.MaxMemory/8))
	all := admission.Amounts{
		admission.Streams: int64(l.MaxStreams), admission.Calls: int64(l.MaxCalls), admission.Feeds: int64(l.MaxFeeds),
		admission.Memory: int64(l.MaxMemory), admission.Spool: int64(l.MaxSpool), admission.Temporary: int64(l.MaxTemporary),
	}
	each := all
	for i := range each {
		each[i] = int64(math.Ceil(float64(each[i]) * l.ClientShare))
	}
	c.MaxStreams, c.SendTimeout, c.UploadTimeout, c.TemporaryLife = l.MaxStreams, l.SendTimeout, l.UploadTimeout, l.TemporaryLife
	if c.TemporaryLife == 0 {
		c.TemporaryLife = -1
	}
	c.Subscriptions.Most, c.Subscriptions.Life = l.MaxSubscriptions, l.SubscriptionLife
	c.Subscriptions.MostOfOwner = int(math.Ceil(float64(l.MaxSubscriptions) * l.ClientShare))
	c.Admission = admission.New(admission.Limits{All: all, Caller: each})
	if os.Getenv("GOGC") == "" {
		c.Admission.Pace(admission.Live, func(percent int) { debug.SetGCPercent(percent) })
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
		"connections", l.MaxConnections, "memory_available", available)
	return connections
}
