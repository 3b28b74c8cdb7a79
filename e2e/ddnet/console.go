package ddnet

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// consoleName is the fifo in the server's directory that it takes commands
// from. Its external console would be the other door, but version 16.4 cannot
// open that one on 127.0.0.1 alone.
const consoleName = "console.fifo"

// Console gives the server one command line. It returns once the line was
// written; what comes of it is in the log.
func (s *Server) Console(command string) error {
	// Without O_NONBLOCK this would hang when the server is gone.
	fifo, err := os.OpenFile(filepath.Join(s.dir, consoleName), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = fifo.WriteString(command + "\n")
	return errors.Join(err, fifo.Close())
}
