package ddnet

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// consoleName is the fifo in the server's directory from which it reads commands.
// Its external console is not used, because version 16.4 cannot open that on
// 127.0.0.1 alone.
const consoleName = "console.fifo"

// Console sends the server one command line. It returns when the line has been
// written. The output of the command is in the log.
func (s *Server) Console(command string) error {
	// Without O_NONBLOCK this would block if the server has exited.
	fifo, err := os.OpenFile(filepath.Join(s.dir, consoleName), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = fifo.WriteString(command + "\n")
	return errors.Join(err, fifo.Close())
}
