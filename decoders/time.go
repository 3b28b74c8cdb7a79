package decoders

import "time"

// Time is a point in time, in microseconds since 1970, UTC. It is that of a calendar, unlike the ticks of a replay. Events have those
// of the years 1 to 9999 only, which every text and table can hold.
type Time int64

// TimeOf returns a time without what it has below a microsecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Time returns the time as the standard library has it, in UTC.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// String returns the time as RFC 3339 has it.
func (t Time) String() string { return t.Time().Format(time.RFC3339Nano) }
