package source

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// localFilesystems are the types of file systems (the numbers of statfs(2)) whose files only processes of this machine write,
// with the kernel's knowledge. Nothing is known of other types. ext2 and ext3 have the number of ext4.
var localFilesystems = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC:  true,
	unix.XFS_SUPER_MAGIC:   true,
	unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC:  true,
	unix.TMPFS_MAGIC:       true,
}

// lease finds out whether a process has a file open for writing. The kernel refuses a read lease then (fcntl(2), F_SETLEASE). A
// lease that it grants is released at once, because a process that opens the file for writing waits for it.
func lease(h *os.File) Writer {
	conn, err := h.SyscallConn()
	if err != nil {
		return Elsewhere
	}
	w := Elsewhere
	if err := conn.Control(func(fd uintptr) { w = leaseOf(int(fd)) }); err != nil {
		return Elsewhere
	}
	return w
}

func leaseOf(fd int) Writer {
	var s unix.Statfs_t
	if err := unix.Fstatfs(fd, &s); err != nil || !localFilesystems[uint32(s.Type)] {
		return Elsewhere
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	switch {
	case err == nil:
		return Absent
	case errors.Is(err, unix.EAGAIN):
		return Present
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return Forbidden
	}
	return Elsewhere
}
