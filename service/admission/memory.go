package admission

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// There returns the memory that the process may use, in bytes: the least limit of its control groups, or the memory of the
// machine if that is less. It returns 0 if both are unknown.
func There() int64 { return thereBelow("/") }

// thereBelow is There for a file system with its root at a directory.
func thereBelow(root string) int64 {
	most := int64(math.MaxInt64)
	note := func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			return
		}
		// "max" is not a number. Version 1 means "no limit" by a number close to the largest int64.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && n < 1<<60 {
			most = min(most, n)
		}
	}
	groups := filepath.Join(root, "sys", "fs", "cgroup")
	text, _ := os.ReadFile(filepath.Join(root, "proc", "self", "cgroup"))
	for line := range strings.Lines(string(text)) {
		// hierarchy-ID:controllers:path; version 2 has no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			for path := parts[2]; ; path = filepath.Dir(path) { // the parent groups also limit
				note(filepath.Join(groups, path, "memory.max"))
				note(filepath.Join(groups, path, "memory.high"))
				if path == "/" || path == "." {
					break
				}
			}
		case strings.Contains(","+parts[1]+",", ",memory,"):
			note(filepath.Join(groups, "memory", parts[2], "memory.limit_in_bytes"))
			note(filepath.Join(groups, "memory", "memory.limit_in_bytes"))
		}
	}
	info, _ := os.ReadFile(filepath.Join(root, "proc", "meminfo"))
	for line := range strings.Lines(string(info)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil && kib < 1<<50 {
				most = min(most, kib<<10)
			}
		}
	}
	if most == math.MaxInt64 {
		return 0
	}
	return most
}

// Tune sets the memory limit of the Go runtime to nine tenths of the memory there is, unless GOMEMLIMIT is set.
func Tune(there int64) {
	if there > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(there / 10 * 9)
	}
}

// Pace makes the control call set when the taken memory changes or garbage was collected, one call at a time, as long as the process lives.
// percent is how much the heap may grow between garbage collections (see GOGC). It is the usual 100 while little memory is taken, and less
// when much is taken. So live memory and garbage together stay close to the limit. It is more while the heap is small, of which live returns
// the bytes: the garbage of a few short replays is not worth a collection. It is less when most of the heap belongs to streams, which mostly
// wait: beside what a thousand of them keep, their garbage counts. Call Pace before anything is taken. Without a memory limit it does nothing.
func (c *Control) Pace(live func() int64, set func(percent int)) {
	if c.limits.All[Memory] > 0 {
		c.pacer = &pacer{set: set, percent: usualPercent}
		c.collected(live)
	}
}

// collected adjusts the percentage to the heap that live returns, now and after each garbage collection.
func (c *Control) collected(live func() int64) {
	c.pacer.live.Store(live())
	c.pace()
	runtime.AddCleanup(new([8]*Control), c.collected, live) // what is tiny is not collected by itself
}

// Live returns how large the heap was after the last garbage collection, in bytes.
func Live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// pacer calls set when the percentage by which the heap may grow changes.
type pacer struct {
	mu      sync.Mutex
	set     func(percent int)
	percent int
	live    atomic.Int64 // the heap after the last garbage collection, in bytes
}

const (
	usualPercent = 100
	mostPercent  = 1000
	leastPercent = 6
	paceSteps    = 16       // into how many steps the limit is divided: few, because each change briefly stops the world
	spare        = 64 << 20 // garbage of so many bytes is not worth a collection, or of a step of the limit if that is less
	streamSpare  = 64 << 10 // less for each stream
	streamLive   = 24 << 10 // what a stream that waits keeps in the heap: no reason for as much garbage again
	quietPercent = 20       // with streams alone, which make little garbage
)

// percentOf returns by how many percent the heap may grow when taken of limit is in use, so that live memory and garbage together
// hardly exceed the limit.
func percentOf(taken, live, streams, limit int64) int {
	garbage := max(min(spare, limit/paceSteps)-streams*streamSpare, live-streams*streamLive)
	most := min(garbage*100/max(live, 1), mostPercent)
	if most > usualPercent {
		most -= most % usualPercent
	} else {
		most = max(most+9-(most+9)%10, quietPercent)
	}
	step := (taken*paceSteps + limit - 1) / limit
	if step <= 0 {
		return int(most)
	}
	return int(min(max(106*paceSteps/step-100, leastPercent), most))
}

// pace adjusts the percentage to the taken memory and to the heap. The control must not be locked.
func (c *Control) pace() {
	p := c.pacer
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if percent := percentOf(c.Taken(Memory), p.live.Load(), c.Taken(Streams), c.limits.All[Memory]); percent != p.percent {
		p.percent = percent
		p.set(percent)
	}
}
