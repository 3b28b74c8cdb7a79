package datafile

// Limits bound what a file may ask for. See docs/formats/datafile.md, "Limits".
type Limits struct {
	// Tables is how many bytes the tables and all items may have together. They are held in memory.
	Tables int64
	// Blob is how many bytes a blob may have once inflated, and the expanded tiles of a layer; no more than 2^31-1 at
	// any rate.
	Blob int64
	// Inflated is how many bytes all items may refer to together, once inflated.
	Inflated int64
	// References is how many items may refer to the same blob.
	References int
}

// DefaultLimits let all known maps pass with room to spare: the largest has 620 MB of data, 128 MB of it in one blob.
var DefaultLimits = Limits{Tables: 32 << 20, Blob: 512 << 20, Inflated: 4 << 30, References: 256}
