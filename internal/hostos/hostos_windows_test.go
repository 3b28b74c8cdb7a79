package hostos_test

import "golang.org/x/sys/windows"

var full = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL}
