package service

import "github.com/replayd/replayd/service/encode"

// SetCodecs puts other codecs in place of the daemon's, until restore is called.
func SetCodecs(c ...*encode.Codec) (restore func()) {
	before := codecs
	codecs = c
	return func() { codecs = before }
}
