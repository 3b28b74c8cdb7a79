package decoders

import "time"

// Time is a point in calendar time, unlike the ticks of a replay: microseconds since 1970, UTC. Events only have times in the
// years 1 to 9999, which every text and table can hold.
type Time int64

// TimeOf returns a time, truncated to microseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Time returns the time in the standard library's type, in UTC.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// String returns the time in the form of RFC 3339.
func (t Time) String() string { return t.Time().Format(time.RFC3339Nano) }
