package datafile

// Limits bound the resources that a file may require. See docs/formats/datafile.md, "Limits".
type Limits struct {
	// Tables is the largest size of the tables and all items together, in bytes. They are held in memory.
	Tables int64
	// Blob is the largest inflated size of a blob, and of a layer's expanded tiles, in bytes. Sizes above 2^31-1 are
	// always refused.
	Blob int64
	// Inflated is the largest sum of the inflated bytes that all items refer to.
	Inflated int64
	// References is the largest number of items that may refer to the same blob.
	References int
}

// DefaultLimits accept all known maps with a margin. The largest has 620 MB of data, 128 MB of it in one blob.
var DefaultLimits = Limits{Tables: 32 << 20, Blob: 512 << 20, Inflated: 4 << 30, References: 256}
