//go:build unix

// Program peers decodes files with replayd's decoders and with peers in Go, and streams recordings from a daemon or from a bare server. It
// prints the processor time, the time, and what it counted, as JSON, for peers.py.
//
//	peers TASK RUNS FILE...
//	peers check TASK FILE...           which of the files can be decoded, one a line
//	peers lengthen FROM TO BYTES       makes a long demo of a short one, or a recording
//	peers match TO MINUTES             makes a match of Dota 2
//	peers record ADDRESS REPLAY TO     stores the messages of a stream
//	peers serve ADDRESS RECORDED       sends them by gRPC to each client, and does nothing else
//	peers receive ADDRESS REPLAY RUNS [arrow]
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
)

func main() {
	args := os.Args[1:]
	switch args[0] {
	case "check":
		for _, path := range args[2:] {
			if _, err := decode(args[1], read(path)); err == nil {
				fmt.Println(path)
			}
		}
	case "lengthen":
		check(os.WriteFile(args[2], lengthen(read(args[1]), number(args[3])), 0o600))
	case "match":
		match, _ := demtest.LongMatch(1, number(args[2]))
		check(os.WriteFile(args[1], match, 0o600))
	case "record":
		record(args[1], args[2], args[3])
	case "serve":
		serve(args[1], args[2])
	case "receive":
		conn, req := dial(args[1]), request(args[2], args[4:])
		measure(number(args[3]), func() int { return receive(conn, req, nil) })
	default:
		var files [][]byte
		for _, path := range args[2:] {
			files = append(files, read(path))
		}
		measure(number(args[1]), func() (count int) {
			for _, data := range files {
				n, err := decode(args[0], data)
				check(err)
				count += n
			}
			return count
		})
	}
}

func lengthen(data []byte, size int) []byte {
	if !bytes.HasPrefix(data, []byte("PBDEMS2")) {
		return teetest.Repeat(data, size)
	}
	long, err := demtest.Repeat(data, size)
	check(err)
	return long
}

// measure prints what the runs took.
func measure(runs int, run func() int) {
	began, used, count := time.Now(), processor(), 0
	for range runs {
		count += run()
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"cpu": (processor() - used).Seconds(), "wall": time.Since(began).Seconds(), "n": count,
	}))
}

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	check(err)
	return data
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}
