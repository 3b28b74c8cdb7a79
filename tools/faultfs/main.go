// Command faultfs mounts a directory elsewhere, through FUSE, as a file system that fails on command. Tests use it to
// check how replayd behaves on bad disks, and on network file systems whose server is unreachable.
//
//	faultfs SOURCE MOUNTPOINT
//
// It prints "mounted". Then it reads commands, one per line, and answers each with "ok":
//
//	read ERRNO   reads fail: EIO, ESTALE
//	open ERRNO   opening fails
//	stat ERRNO   stat of a file fails
//	short N      reads return at most N bytes
//	room N       writes fail with ENOSPC after N more bytes
//	hang         reads wait until the next command
//	well         ends all faults
//
// It unmounts and exits at the end of its input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: faultfs SOURCE MOUNTPOINT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "faultfs:", err)
		os.Exit(1)
	}
}

func run(source, mountpoint string) error {
	root, err := fs.NewLoopbackRoot(source)
	if err != nil {
		return err
	}
	f := &faults{room: -1}
	// The kernel caches nothing, so that each fault takes effect at once.
	server, err := fs.Mount(mountpoint, &node{root.(*fs.LoopbackNode), f}, &fs.Options{MountOptions: fuse.MountOptions{
		FsName: "faultfs", Name: "faultfs", DirectMount: true, AllowOther: os.Getuid() == 0, DisableReadDirPlus: true,
	}})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		answer := "ok"
		if err := f.set(strings.Fields(commands.Text())); err != nil {
			answer = err.Error()
		}
		fmt.Println(answer)
	}
	_ = f.set([]string{"well"}) // release readers that hang
	return server.Unmount()
}

// faults are the faults in effect.
type faults struct {
	mu               sync.Mutex
	read, open, stat syscall.Errno
	short            int   // 0 for no limit
	room             int64 // -1 for no limit
	hang             chan struct{}
}

var errnos = map[string]syscall.Errno{"EIO": syscall.EIO, "ESTALE": syscall.ESTALE}

// set executes a command. A fault stays in effect until "well".
func (f *faults) set(words []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hang != nil {
		close(f.hang)
		f.hang = nil
	}
	var n int64
	var errno syscall.Errno
	if len(words) == 2 {
		errno = errnos[words[1]]
		n, _ = strconv.ParseInt(words[1], 10, 64)
	}
	switch command := strings.Join(words[:min(len(words), 1)], ""); {
	case command == "well":
		f.read, f.open, f.stat, f.short, f.room = 0, 0, 0, 0, -1
	case command == "hang":
		f.hang = make(chan struct{})
	case command == "room" && len(words) == 2:
		f.room = n
	case command == "short" && n > 0:
		f.short = int(n)
	case errno == 0:
		return fmt.Errorf("unknown command %q", words)
	case command == "read":
		f.read = errno
	case command == "open":
		f.open = errno
	case command == "stat":
		f.stat = errno
	default:
		return fmt.Errorf("unknown command %q", words)
	}
	return nil
}

// node is a file or a directory.
type node struct {
	*fs.LoopbackNode

	faults *faults
}

// WrapChild implements fs.NodeWrapChilder.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{ops.(*fs.LoopbackNode), n.faults}
}

// Open implements fs.NodeOpener.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.faults.mu.Lock()
	errno := n.faults.open
	n.faults.mu.Unlock()
	if errno != 0 {
		return nil, 0, errno
	}
	h, _, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &handle{h.(*fs.LoopbackFile), n.faults}, fuse.FOPEN_DIRECT_IO, 0
}

// Create implements fs.NodeCreater.
func (n *node) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, h, _, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return inode, &handle{h.(*fs.LoopbackFile), n.faults}, fuse.FOPEN_DIRECT_IO, 0
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.faults.mu.Lock()
	errno := n.faults.stat
	n.faults.mu.Unlock()
	if errno != 0 && !n.IsDir() {
		return errno
	}
	return n.LoopbackNode.Getattr(ctx, f, out)
}

// Statx is not implemented, so the kernel uses Getattr.
func (*node) Statx(context.Context, fs.FileHandle, uint32, uint32, *fuse.StatxOut) syscall.Errno {
	return syscall.ENOSYS
}

// handle is an open file.
type handle struct {
	*fs.LoopbackFile

	faults *faults
}

// PassthroughFd makes the kernel send every request to this process.
func (*handle) PassthroughFd() (int, bool) { return 0, false }

// Read implements fs.FileReader.
func (h *handle) Read(ctx context.Context, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f := h.faults
	f.mu.Lock()
	errno, short, hang := f.read, f.short, f.hang
	f.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return nil, syscall.EINTR
		}
	}
	if errno != 0 {
		return nil, errno
	}
	if short > 0 {
		buf = buf[:min(len(buf), short)]
	}
	return h.LoopbackFile.Read(ctx, buf, off)
}

// Write implements fs.FileWriter.
func (h *handle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	f := h.faults
	f.mu.Lock()
	full := f.room >= 0 && f.room < int64(len(data))
	if f.room >= 0 && !full {
		f.room -= int64(len(data))
	}
	f.mu.Unlock()
	if full {
		return 0, syscall.ENOSPC
	}
	return h.LoopbackFile.Write(ctx, data, off)
}
