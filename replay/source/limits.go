package source

// Limits bound the cost of a compressed file. The zero value of a field means its default.
type Limits struct {
	// Inflated limits the bytes that a compressed replay unpacks to. Default 16 GiB: the replay is never held in memory as a
	// whole, so this bounds time.
	Inflated int64
	// Spooled is how many bytes File.Spool may write to disk. Default 4 GiB.
	Spooled int64
	// Ratio limits unpacked bytes per compressed byte, once more than RatioFree bytes were unpacked. Default 200; replays reach
	// about 20.
	Ratio int64
	// RatioFree is how many bytes may be unpacked without a limit of the ratio. Default 64 MiB.
	RatioFree int64
	// Window is the largest window, in bytes, that a Zstandard frame may ask for; the decompressor allocates about twice as much.
	// Default 16 MiB. The zstd command asks for 8 MiB at levels up to 19.
	Window int64
	// Dictionary is the largest dictionary, in bytes, that an xz block may ask for. Default 64 MiB, enough for all presets of the
	// xz command. Memory is allocated as it fills.
	Dictionary int64
	// Budget is asked before an upload takes memory or room on disk; for files, see File.Spend. Nil sets no limit.
	Budget Budget
	// TempDir is where File.Spool puts its files. Default os.TempDir.
	TempDir string

	account *account
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *int64
		value int64
	}{
		{&l.Inflated, 16 * gib},
		{&l.Spooled, 4 * gib},
		{&l.Ratio, 200},
		{&l.RatioFree, 64 * mib},
		{&l.Window, 16 * mib},
		{&l.Dictionary, 64 * mib},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}
