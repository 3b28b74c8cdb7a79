package service

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/encode"
	"github.com/replayd/replayd/service/source"
)

// liveFor is how long after the last byte was written a file that may grow is taken to be live.
const liveFor = time.Minute

// describeInfo is what the file system tells of a replay.
func describeInfo(info *source.Info) *replaydv1.Replay {
	r := &replaydv1.Replay{
		Name: info.Name, Format: protoFormat(info.Format), Size: max(info.Size, 0),
		Compression: replaydv1.Compression(info.Compression),
	}
	if !info.Modified.IsZero() {
		r.Modified = timestamppb.New(info.Modified)
		r.Live = followable(info) && time.Since(info.Modified) < liveFor
	}
	return r
}

// input returns the bytes of a file as its format wants to read them. A compressed file of a format that is read in any
// order is unpacked to a temporary file first.
func input(ctx context.Context, file *source.File, codec *encode.Codec) (encode.Input, error) {
	if info := file.Info(); codec.RandomAccess && (info.Size < 0 || info.Compression != source.Plain) {
		if err := file.Spool(ctx); err != nil {
			return encode.Input{}, err
		}
	}
	return file.Input(), nil
}

// Describe tells of an opened replay what can be told without decoding all of it.
func Describe(ctx context.Context, file *source.File) (*replaydv1.Replay, error) {
	if err := file.Recognized(); err != nil {
		return nil, err
	}
	info := file.Info()
	codec, err := codecOf(info.Format)
	if err != nil {
		return nil, err
	}
	in, err := input(ctx, file, codec)
	if err != nil {
		return nil, err
	}
	r := describeInfo(&info)
	return r, codec.Describe(ctx, in, r)
}
