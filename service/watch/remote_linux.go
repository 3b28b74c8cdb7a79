package watch

import "golang.org/x/sys/unix"

// remoteFilesystems are the types of file systems whose files may change without an inotify event. Other machines change them
// over a network, or a process changes them without the kernel's knowledge. The numbers are from statfs(2). The last ones are
// missing in golang.org/x/sys/unix.
var remoteFilesystems = map[uint32]bool{
	unix.NFS_SUPER_MAGIC:   true,
	unix.SMB_SUPER_MAGIC:   true,
	unix.SMB2_SUPER_MAGIC:  true,
	unix.CIFS_SUPER_MAGIC:  true,
	unix.FUSE_SUPER_MAGIC:  true,
	unix.V9FS_MAGIC:        true,
	unix.CEPH_SUPER_MAGIC:  true,
	unix.AFS_SUPER_MAGIC:   true,
	unix.AFS_FS_MAGIC:      true,
	unix.CODA_SUPER_MAGIC:  true,
	unix.NCP_SUPER_MAGIC:   true,
	unix.OCFS2_SUPER_MAGIC: true,
	unix.PROC_SUPER_MAGIC:  true,
	unix.SYSFS_MAGIC:       true,
	0x01161970:             true, // GFS2
	0x0bd00bd0:             true, // Lustre
	0x47504653:             true, // GPFS
	0x786f4256:             true, // VirtualBox shared folders
	0xbacbacbc:             true, // VMware shared folders
}

// remote reports whether inotify does not work for a path. It returns false when the type of the file system is unknown.
func remote(path string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return false
	}
	return remoteFilesystems[uint32(s.Type)]
}
