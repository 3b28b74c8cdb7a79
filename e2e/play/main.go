// Command play runs a real DDNet server on which four clients wander about, until its standard input ends. It prints the directory
// of the server's recordings when they play.
//
//	go run ./e2e/play DIRECTORY
//
// DIRECTORY is the server's, and must exist. It requires what e2e/record requires.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/replayd/replayd/e2e/ddnet"
)

// startTimeout is how long the server and its clients may take to start.
const startTimeout = 5 * time.Minute

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: play DIRECTORY")
		os.Exit(2)
	}
	if err := play(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "play: %v\n", err)
		os.Exit(1)
	}
}

func play(dir string) (err error) {
	starting, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	program, err := ddnet.Install(starting)
	if err != nil {
		return err
	}
	srv, err := ddnet.Start(starting, ddnet.Config{Dir: dir, Program: program})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Kill()) }()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	bots, err := srv.Bots(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bots.Close()) }()
	if err := bots.Run(ctx, "alice join\nbob join\ncarol join\ndave join\n* wander on\n"); err != nil {
		return err
	}
	fmt.Println(srv.TeehistorianDir())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
