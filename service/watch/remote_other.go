//go:build !linux

package watch

// remote always returns false on this system. Users must set mode Poll for files on a network.
func remote(string) bool { return false }
