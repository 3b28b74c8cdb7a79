package tablefile

import (
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// pageWindow is the window of Zstandard for Parquet. Pages are not larger, and with the usual window each encoder takes 16 MB.
const pageWindow = 512 << 10

// encoder and decoder compress waiting rows fast. Both may be used concurrently.
var (
	shortTerm = encoder(zstd.SpeedFastest)
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

// pages compresses pages of Parquet files as Arrow's codec does, in less memory.
type pages struct {
	compress.Codec

	encoder *zstd.Encoder
}

func init() {
	codec, err := compress.GetCodec(compress.Codecs.Zstd)
	if err != nil {
		return // New reports that Arrow lacks the codec
	}
	compress.RegisterCodec(compress.Codecs.Zstd, &pages{codec, encoder(zstd.SpeedDefault)})
}

// Encode implements compress.Codec.
func (p *pages) Encode(dst, src []byte) []byte { return p.encoder.EncodeAll(src, dst[:0]) }

// EncodeLevel implements compress.Codec. There is one level.
func (p *pages) EncodeLevel(dst, src []byte, _ int) []byte { return p.Encode(dst, src) }
