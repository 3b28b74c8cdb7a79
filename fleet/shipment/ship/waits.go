package ship

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
)

// The reasons for which a file, or the whole shipper, waits.
const (
	WaitsNATS    = "nats"    // NATS does not answer
	WaitsRoom    = "room"    // the stream is full
	WaitsArchive = "archive" // the archive does not take a finished file
	WaitsDisk    = "disk"    // the directory or a file cannot be read
	WaitsOwner   = "owner"   // another shipper owns the source
)

// Waits are all of them.
var Waits = []string{WaitsNATS, WaitsRoom, WaitsArchive, WaitsDisk, WaitsOwner}

// waitsFor returns the reason to wait after an error.
func (s *Shipper) waitsFor(err error) string {
	_, file := errors.AsType[*fs.PathError](err)
	_, number := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, errArchive):
		return WaitsArchive
	case errors.Is(err, shipment.ErrFull):
		return WaitsRoom
	case s.o.Connected() && (file || number || errors.Is(err, errChanged)):
		return WaitsDisk
	}
	return WaitsNATS
}

// waits notes that a file waits because of an error, or no longer waits, if err is nil. An empty path means the shipper itself.
func (s *Shipper) waits(path string, err error) {
	if err == nil {
		s.waitsOn(path, "")
		return
	}
	s.waitsOn(path, s.waitsFor(err))
}

func (s *Shipper) waitsOn(path, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == "" {
		delete(s.waiting, path)
		return
	}
	s.waiting[path] = what
}

// Waiting returns the number of waiting files by reason. The shipper itself counts as one before it ships.
func (s *Shipper) Waiting() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, what := range s.waiting {
		n[what]++
	}
	return n
}

// tellEvery is how often the log names what is waited for. The first time is sooner.
const tellEvery = 30 * time.Second

// tellWaits logs what is waited for, until ctx ends.
func (s *Shipper) tellWaits(ctx context.Context) {
	told := false
	for every := tellEvery / 10; shipment.Pause(ctx, every); every = tellEvery {
		n := s.Waiting()
		if !s.o.Connected() {
			n[WaitsNATS] = max(n[WaitsNATS], 1)
		}
		if len(n) == 0 {
			if told {
				s.o.Log.InfoContext(ctx, "nothing waits any more", "source", s.o.Source)
			}
			told = false
			continue
		}
		attributes := []any{"source", s.o.Source}
		for _, what := range slices.Sorted(maps.Keys(n)) {
			attributes = append(attributes, slog.Int(what, n[what]))
		}
		s.o.Log.WarnContext(ctx, "files wait; the numbers say how many for what", attributes...)
		told = true
	}
}
