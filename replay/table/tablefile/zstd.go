package tablefile

import "github.com/klauspost/compress/zstd"

// pageWindow is the window of Zstandard for Parquet. Pages are not larger, and with the usual window each encoder takes 16 MB.
const pageWindow = 512 << 10

// shortTerm compresses waiting rows fast, and pages compresses pages well. All three may be used concurrently.
var (
	shortTerm = encoder(zstd.SpeedFastest)
	pages     = encoder(zstd.SpeedDefault)
	unpacker  = decoder()
)

func encoder(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(pageWindow),
		zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) //nolint:forbidigo // these options are valid
	}
	return e
}

func decoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err) //nolint:forbidigo // as above
	}
	return d
}
