package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/alecthomas/kong"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
)

// Secrets is a flag that names kinds of secrets. Without a value it means all kinds.
type Secrets struct{ decoders.Secrets }

// IsBool makes the flag's value optional.
func (*Secrets) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (s *Secrets) Decode(ctx *kong.DecodeContext) (err error) {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		s.Secrets = decoders.AllSecrets
		return nil
	}
	s.Secrets, err = decoders.ParseSecrets(fmt.Sprint(ctx.Scan.Pop().Value))
	return err
}

// keySize is the size of a new key of pseudonyms, and the smallest one, in bytes.
const keySize = 32

// secretsOf returns a daemon's handling of secrets. It reads the key of pseudonyms from a file, or writes a new one into it. An
// empty path means no key.
func secretsOf(reveal Secrets, path string) (codec.Secrets, error) {
	s := codec.Secrets{Reveal: reveal.Secrets}
	if path == "" {
		return s, nil
	}
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, keySize)
		if _, err = rand.Read(key); err == nil {
			err = writeNew(path, key)
		}
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("the key of pseudonyms: %w", err)
	case len(key) < keySize:
		return s, fmt.Errorf("the key of pseudonyms, %s, has %d bytes; it needs at least %d", path, len(key), keySize)
	}
	s.Key = key
	return s, nil
}

// writeNew writes a file that must not exist yet, readable for its owner only.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}
