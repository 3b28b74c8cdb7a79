package tablefile

import "github.com/klauspost/compress/zstd"

// pageWindow is the window of Zstandard for Parquet. Pages are not larger, and with the usual window each encoder takes 16 MB.
const pageWindow = 512 << 10

// pages compresses pages. It may be used concurrently.
var pages = encoder()

func encoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(pageWindow),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) //nolint:forbidigo // these options are valid
	}
	return e
}
