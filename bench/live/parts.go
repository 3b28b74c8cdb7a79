//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/proto/rawcodec"
	teehistorianv1 "github.com/replayd/replayd/proto/replayd/teehistorian/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
	"github.com/replayd/replayd/testdata"
)

// times holds the time when each tick of each file was written, in nanoseconds since 1970. The processes share this memory.
type times struct {
	all   []int64
	ticks int
}

func timesPath(s settings) string { return filepath.Join(s.Dir, ".times") }

func newTimes(s settings) { check(os.WriteFile(timesPath(s), make([]byte, 8*s.Files*s.Ticks), 0o600)) }

func openTimes(s settings) times {
	f, err := os.OpenFile(timesPath(s), os.O_RDWR, 0)
	check(err)
	defer f.Close() //nolint:errcheck // the mapping stays valid
	n := s.Files * s.Ticks
	b, err := syscall.Mmap(int(f.Fd()), 0, 8*n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	check(err)
	return times{unsafe.Slice((*int64)(unsafe.Pointer(&b[0])), n), s.Ticks}
}

func (t times) at(file, tick int) *int64 { return &t.all[file*t.ticks+tick] }

// spread holds percentiles of durations, in milliseconds.
type spread struct {
	Count             int
	P50, P99, Longest float64
}

func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	ms := func(i int) float64 { return float64(all[min(i, len(all)-1)]) / 1e6 }
	return spread{len(all), ms(len(all) / 2), ms(len(all) * 99 / 100), ms(len(all) - 1)}
}

func printJSON(v any) {
	text, err := json.Marshal(v)
	check(err)
	fmt.Println(string(text))
}

// waitForParent waits for a line from the parent. It exits the process when the parent has exited.
func waitForParent() {
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		os.Exit(1)
	}
}

func fileName(i int) string { return fmt.Sprintf("%04d.teehistorian", i) }

// brokenName returns the name of a file that cannot be decoded: compressed, of another format, or as the others.
func brokenName(i int) string {
	return fmt.Sprintf("broken%04d", i) + []string{".teehistorian", ".dem", ".teehistorian.xz", ".teehistorian.gz"}[i%4]
}

// brokenHead returns what is written to such a file before its damage: half of a demo, the header of a recording, or nothing.
func brokenHead(files, i int) []byte {
	switch i % 4 {
	case 0, 2:
		return header(files + i)
	case 1:
		demo := sample("dem", "deadlock.dem")
		return demo[:len(demo)/2]
	}
	return nil
}

// sample returns a bundled sample.
func sample(path ...string) []byte {
	dir, err := os.MkdirTemp("", "replayd-bench-samples")
	check(err)
	defer os.RemoveAll(dir) //nolint:errcheck // the directory is temporary
	check(testdata.Unpack(dir))
	data, err := os.ReadFile(filepath.Join(append([]string{dir}, path...)...))
	check(err)
	return data
}

// header returns the beginning of a recording of a full server.
func header(number int) []byte {
	game := sample("teehistorian", "killed", "d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian")
	data := slices.Clone(game[:16+1+bytes.IndexByte(game[16:], 0)])
	data = bytes.Replace(data, []byte("d3a324eb"), fmt.Appendf(nil, "%08x", number), 1)
	for id := range players {
		data = append(data, 0x42, byte(id), 0, 0) // PLAYER_NEW id x y
	}
	for id := range players {
		data = append(append(data, 0x45, byte(id)), make([]byte, 10)...) // INPUT_NEW id and an input
	}
	return data
}

// inputs is the number of ticks from one input of a player to the next.
const inputs = 5

// tickOf returns a tick, in which all players move, and some press or release the fire key.
func tickOf(n int) (tick []byte) {
	for id := range players {
		tick = append(tick, byte(id), 1, 0x40) // PLAYER_DIFF id +1 -1
	}
	for id := n % inputs; id < players; id += inputs {
		tick = append(tick, 0x44, byte(id), 0, 0, 0, 0, 1, 0, 0, 0, 0, 0) // INPUT_DIFF id and the differences: fire +1
	}
	return tick
}

// write plays the servers. It appends a tick to each file every 20 ms.
func write(s settings) {
	t := openTimes(s)
	files := make([]*os.File, s.Files)
	for i := range files {
		var err error
		files[i], err = os.OpenFile(filepath.Join(s.Dir, fileName(i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		check(err)
		_, err = files[i].Write(header(i))
		check(err)
	}
	var ticks [inputs][]byte
	for i := range ticks {
		ticks[i] = tickOf(i)
	}
	broken := make([]*os.File, s.Broken)
	for i := range broken {
		var err error
		broken[i], err = os.OpenFile(filepath.Join(s.Dir, brokenName(i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		check(err)
		_, err = broken[i].Write(brokenHead(len(files), i))
		check(err)
	}
	damage := bytes.Repeat([]byte{0xff}, len(ticks[0]))
	printJSON(true)
	waitForParent()
	var late []time.Duration
	began := time.Now()
	for n := range s.Ticks {
		for phase := range phases {
			due := began.Add(time.Duration(n)*every + time.Duration(phase)*every/phases)
			time.Sleep(time.Until(due))
			for i := phase; i < len(files); i += phases {
				now := time.Now()
				if n >= warmUp {
					late = append(late, now.Sub(due))
				}
				atomic.StoreInt64(t.at(i, n), now.UnixNano())
				_, err := files[i].Write(ticks[n%inputs])
				check(err)
			}
			for i := phase; i < len(broken); i += phases {
				_, err := broken[i].Write(damage)
				check(err)
			}
		}
	}
	printJSON(spreadOf(late))
	waitForParent()
}

// arrivals holds the latencies of the ticks at one follower.
type arrivals struct {
	times
	file, next int
	late       []time.Duration
}

// upTo records the arrival of all ticks up to one, counted from 1.
func (a *arrivals) upTo(tick int) {
	now := time.Now().UnixNano()
	for ; a.next < min(tick, a.ticks); a.next++ {
		if a.next >= warmUp {
			a.late = append(a.late, time.Duration(now-atomic.LoadInt64(a.at(a.file, a.next))))
		}
	}
}

// follow runs the followers, spread evenly over the files.
func follow(s settings) {
	t := openTimes(s)
	all := make([]*arrivals, s.Followers)
	ctx, cancel := context.WithCancel(context.Background())
	var ready, done sync.WaitGroup
	for i := range all {
		all[i] = &arrivals{times: t, file: i % s.Files}
		ready.Add(1)
		done.Go(func() {
			switch {
			case s.State > 0:
				all[i].late = watch(ctx, s, t, ready.Done)
			case s.All:
				all[i].late = subscribe(ctx, s, t, ready.Done)
			case s.Plain:
				all[i].readPlain(ctx, s, ready.Done)
			default:
				all[i].stream(ctx, s, ready.Done)
			}
		})
	}
	ready.Wait()
	printJSON(true)
	waitForParent()
	cancel()
	done.Wait()
	var late []time.Duration
	for _, a := range all {
		late = append(late, a.late...)
	}
	printJSON(spreadOf(late))
	waitForParent()
}

func (a *arrivals) stream(ctx context.Context, s settings, ready func()) {
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(8<<10), grpc.WithWriteBufferSize(8<<10),
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20)) // as the Go client does
	check(err)
	defer conn.Close() //nolint:errcheck // nothing more will be written
	req := &replaydv1.StreamEventsRequest{Replay: "live/" + fileName(a.file), Follow: true}
	if s.Facts {
		req.Include = streamtest.Everything(replaydv1.Format_FORMAT_TEEHISTORIAN)[:2]
	}
	var stream grpc.ClientStream
	for deadline := time.Now().Add(time.Minute); ; {
		c := streamtest.Client{Conn: conn, Options: []grpc.CallOption{grpc.WaitForReady(true)}}
		stream, err = c.Open(ctx, req)
		if err == nil || time.Now().After(deadline) {
			break
		}
	}
	check(err)
	for caughtUp := false; ; {
		var raw rawcodec.Message
		if err := stream.RecvMsg(&raw); err != nil {
			if ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "a stream ended:", err)
			}
			return
		}
		if !caughtUp {
			var r replaydv1.StreamEventsResponse
			check(proto.Unmarshal(raw.Bytes, &r))
			if caughtUp = r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP; caughtUp {
				ready()
			}
			continue
		}
		a.upTo(int(lastX(raw.Bytes))) // all players move by one per tick
	}
}

// numberOf returns the number of a message's field.
func numberOf(m proto.Message, field protoreflect.Name) protowire.Number {
	return m.ProtoReflect().Descriptor().Fields().ByName(field).Number()
}

// The fields from a response to its moves.
var (
	toList = []protowire.Number{
		numberOf(&replaydv1.StreamEventsResponse{}, "batch"),
		numberOf(&replaydv1.EventBatch{}, "teehistorian"),
	}
	eventField = numberOf(&teehistorianv1.EventList{}, "events")
	diffField  = numberOf(&teehistorianv1.Event{}, "player_diff")
)

// lastX returns the x of a response's last move, or 0 without one. It does not decode the rest of the response. Followers share
// the machine with the daemon, so full decoding would dominate the measurement.
func lastX(message []byte) int32 {
	for _, number := range toList {
		message = last(message, number)
	}
	var move []byte
	for len(message) > 0 {
		var event []byte
		if event, message = next(message, eventField); event == nil {
			continue
		}
		if found := last(event, diffField); found != nil {
			move = found
		}
	}
	var diff teehistorianv1.PlayerDiff
	if err := proto.Unmarshal(move, &diff); err != nil {
		return 0
	}
	return diff.GetX()
}

// last returns the last field with a number in a message.
func last(message []byte, number protowire.Number) (value []byte) {
	for len(message) > 0 {
		var v []byte
		if v, message = next(message, number); v != nil {
			value = v
		}
	}
	return value
}

// next returns the first field of a message if it has a number, and the rest of the message.
func next(message []byte, number protowire.Number) (value, rest []byte) {
	n, kind, size := protowire.ConsumeTag(message)
	if size < 0 {
		return nil, nil
	}
	message = message[size:]
	if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
		return nil, nil
	}
	if n == number && kind == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(message)
	}
	return value, message[size:]
}

// The fields from a state to the place of a player.
var (
	watchedField = numberOf(&replaydv1.WatchStateResponse{}, "replays")
	playersField = numberOf(&replaydv1.WatchedReplay{}, "teehistorian")
	sampleField  = numberOf(&teehistorianv1.Event{}, "sample_player")
)

// watch watches the states of all files, and returns the latencies of their ticks.
func watch(ctx context.Context, s settings, t times, ready func()) (late []time.Duration) {
	req := &replaydv1.WatchStateRequest{Interval: durationpb.New(s.State), Columns: append(s.Columns, "x")}
	if len(s.Columns) == 0 {
		req.Columns = nil
	}
	return many(ctx, s, t, ready, replaydv1.ReplayService_WatchState_FullMethodName, req, func(response []byte, reached reached) {
		for rest := response; len(rest) > 0; {
			var entry []byte
			if entry, rest = next(rest, watchedField); entry == nil {
				continue
			}
			number, x := stateOf(entry)
			reached(number, x, func() string {
				var r replaydv1.WatchedReplay
				check(proto.Unmarshal(entry, &r))
				return r.GetDescription().GetName()
			})
		}
	})
}

var streamedField = numberOf(&replaydv1.SubscribeEventsResponse{}, "streamed")

// subscribe has the events of all files in one call, and returns the latencies of their ticks.
func subscribe(ctx context.Context, s settings, t times, ready func()) (late []time.Duration) {
	req := &replaydv1.SubscribeEventsRequest{Directory: "live"}
	return many(ctx, s, t, ready, replaydv1.ReplayService_SubscribeEvents_FullMethodName, req, func(response []byte, reached reached) {
		streamed := last(response, streamedField)
		if streamed == nil {
			return
		}
		reached(numberIn(response), lastX(streamed), func() string {
			var r replaydv1.StreamEventsResponse
			check(proto.Unmarshal(streamed, &r))
			return r.GetStart().GetReplay().GetName()
		})
	})
}

// reached notes that a file, by its number in a call, has come to a tick. name returns the file's name where the number is new.
type reached func(number uint32, x int32, name func() string)

// many makes a call of which each response tells how far some files are, and returns the latencies of their ticks.
func many(
	ctx context.Context, s settings, t times, ready func(), method string, req proto.Message, read func(response []byte, reached reached),
) (late []time.Duration) {
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(1<<20)) // as the Go client does
	check(err)
	defer conn.Close() //nolint:errcheck // nothing more will be written
	games := map[uint32]*arrivals{}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(rawcodec.New()), grpc.WaitForReady(true))
	check(err)
	check(stream.SendMsg(req))
	check(stream.CloseSend())
	for found, began := 0, false; ; {
		var raw rawcodec.Message
		if err := stream.RecvMsg(&raw); err != nil {
			if ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "a call ended:", err)
			}
			break
		}
		read(raw.Bytes, func(number uint32, x int32, name func() string) {
			if games[number] == nil {
				games[number] = &arrivals{times: t, file: -1}
				if _, err := fmt.Sscanf(filepath.Base(name()), "%d", &games[number].file); err == nil {
					found++
				}
			}
			if games[number].file >= 0 { // it is not a broken one
				games[number].upTo(int(x))
			}
		})
		if !began && found == s.Files {
			began = true
			ready()
		}
	}
	for _, a := range games {
		late = append(late, a.late...)
	}
	return late
}

// numberIn returns the number of a file, which is the first field of a message.
func numberIn(message []byte) uint32 {
	_, _, size := protowire.ConsumeTag(message)
	n, _ := protowire.ConsumeVarint(message[size:])
	return uint32(n)
}

// stateOf returns the number of a game, and the place of one of its players.
func stateOf(entry []byte) (number uint32, x int32) {
	number = numberIn(entry)
	list := last(entry, playersField)
	if len(list) == 0 {
		return number, 0
	}
	event, _ := next(list, eventField)
	var player teehistorianv1.SamplePlayer
	check(proto.Unmarshal(last(event, sampleField), &player))
	return number, player.GetX()
}

// plainBytes is the approximate size of a tick of a full server on the wire.
const plainBytes = 1330

func (a *arrivals) readPlain(ctx context.Context, s settings, ready func()) {
	var conn net.Conn
	var err error
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err = net.Dial("tcp", s.Addr); err == nil || time.Now().After(deadline) {
			break
		}
	}
	check(err)
	defer conn.Close() //nolint:errcheck // nothing more will be written
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	message := make([]byte, plainBytes)
	binary.LittleEndian.PutUint32(message, uint32(a.file))
	_, err = conn.Write(message[:4])
	check(err)
	ready()
	for {
		if _, err := io.ReadFull(conn, message); err != nil {
			return
		}
		a.upTo(int(binary.LittleEndian.Uint32(message)))
	}
}

// plain is the program for comparison: it writes to the followers of a file that has grown, and waits for the next one.
func plain(s settings) {
	go func() {
		waitForParent() // never returns a line; exits with the parent
	}()
	t := openTimes(s)
	l, err := net.Listen("tcp", s.Addr)
	check(err)
	var mu sync.Mutex
	conns := make([][]net.Conn, s.Files)
	go func() {
		for {
			conn, err := l.Accept()
			check(err)
			var of [4]byte
			_, err = io.ReadFull(conn, of[:])
			check(err)
			mu.Lock()
			file := binary.LittleEndian.Uint32(of[:])
			conns[file] = append(conns[file], conn)
			mu.Unlock()
		}
	}()
	watcher, err := fsnotify.NewWatcher()
	check(err)
	check(watcher.Add(s.Dir))
	next := make([]int, s.Files)
	message := make([]byte, plainBytes)
	for event := range watcher.Events {
		var i int
		if _, err := fmt.Sscanf(filepath.Base(event.Name), "%d", &i); err != nil {
			continue
		}
		mu.Lock()
		for ; next[i] < s.Ticks && atomic.LoadInt64(t.at(i, next[i])) != 0; next[i]++ {
			binary.LittleEndian.PutUint32(message, uint32(next[i]+1))
			for _, conn := range conns[i] {
				_, _ = conn.Write(message)
			}
		}
		mu.Unlock()
	}
}
