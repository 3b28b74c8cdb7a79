package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: same ADDRESS DIRECTORY")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, directory string) error {
	client, err := replayd.Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for replay, err := range client.Replays(ctx, &replaydv1.ListReplaysRequest{}) {
		if err != nil {
			return err
		}
		name := replay.GetName()
		line("rows", name, client.Stream(ctx, &replaydv1.StreamEventsRequest{Replay: name}))
		state := &replaydv1.Start{At: &replaydv1.Start_Now{Now: &replaydv1.Now{}}, WithState: true}
		line("state", name+"@end", client.Stream(ctx, &replaydv1.StreamEventsRequest{Replay: name, Start: state}))
		last := &replaydv1.StreamEventsRequest{
			Replay: name, ResolvePlayers: strings.Contains(name, ".teehistorian"),
			Start: &replaydv1.Start{At: &replaydv1.Start_LastEvents{LastEvents: 200}, WithState: true},
		}
		line("players", name+"@last", client.Stream(ctx, last))
		_, path, _ := strings.Cut(name, "/")
		file, err := os.Open(filepath.Join(directory, path))
		if err != nil {
			return err
		}
		line("upload", name, client.Decode(ctx, file, nil))
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

func line(how, name string, stream *replayd.Stream) {
	h := sha256.New()
	count, end := digest(h, stream.Events())
	if end == "" {
		end = strings.TrimPrefix(stream.End().GetReason().String(), "END_REASON_")
	}
	fmt.Println(how, name, count, hex.EncodeToString(h.Sum(nil)), end)
}

// digest hashes all events. If they end early, failure is the reason.
func digest(h hash.Hash, events iter.Seq2[replayd.Event, error]) (count int, failure string) {
	for event, err := range events {
		if failed := (*replayd.Error)(nil); errors.As(err, &failed) {
			return count, strings.TrimPrefix(failed.Reason.String(), "ERROR_REASON_")
		}
		var value any
		text, err := event.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &value)
		}
		if err != nil {
			return count, err.Error()
		}
		h.Write(canonical(nil, value))
		count++
	}
	return count, ""
}

// canonical appends a value in canonical form.
func canonical(b []byte, value any) []byte {
	switch value := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		slices.Sort(names)
		b = append(b, '{')
		for _, name := range names {
			b = canonical(canonical(b, name), value[name])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, element := range value {
			b = canonical(b, element)
		}
		return append(b, ']')
	case string:
		return append(fmt.Appendf(b, "%d:", len(value)), value...)
	case float64:
		var bits [8]byte
		binary.BigEndian.PutUint64(bits[:], math.Float64bits(value))
		return hex.AppendEncode(append(b, '#'), bits[:])
	case bool:
		return append(b, map[bool]byte{true: 't', false: 'f'}[value])
	default:
		return append(b, 'n')
	}
}
