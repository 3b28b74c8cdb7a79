package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/replayd/replayd/replay/source"
)

const (
	connectTimeout = 5 * time.Second
	maxConnections = 64
	maxHeaders     = 64 << 10
	maxError       = 64 << 10 // of the body of an error, in bytes
	maxPage        = 4 << 20  // of a page of a list, in bytes: 1,000 escaped keys of 1,024 bytes, with their attributes
	defaultRegion  = "us-east-1"
)

// newClient returns a client that makes one attempt a request, follows no redirects, logs nothing, and reads bounded answers.
func newClient(ctx context.Context, at Location, o Options) (*s3.Client, error) {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
			WithTransportOptions(func(t *http.Transport) {
				t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = connectTimeout, o.Silence
				t.MaxConnsPerHost, t.MaxIdleConnsPerHost, t.IdleConnTimeout = maxConnections, maxConnections/4, time.Minute
				t.MaxResponseHeaderBytes, t.DisableCompression = maxHeaders, true
			})),
	}
	if at.Region != "" {
		options = append(options, config.WithRegion(at.Region))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil { // the error's text may repeat a part of a file that has secrets
		return nil, errors.New("the settings of AWS, in the environment or in ~/.aws, are invalid")
	}
	if c.Region == "" {
		c.Region = defaultRegion
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if built, ok := c.HTTPClient.(*awshttp.BuildableClient); ok { // with the certificates of AWS_CA_BUNDLE
		client.Transport = built.GetTransport()
	}
	return s3.NewFromConfig(c, func(s *s3.Options) {
		s.HTTPClient = bounded{client}
		s.Retryer, s.RetryMaxAttempts = aws.NopRetryer{}, 0
		s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired // not all stores know trailers
		s.ClientLogMode, s.Logger = 0, logging.Nop{}
		s.Credentials = quiet{s.Credentials}
		if at.Anonymous {
			s.Credentials = aws.AnonymousCredentials{}
		}
		if at.Endpoint != "" {
			s.BaseEndpoint = &at.Endpoint
		}
		s.UsePathStyle = at.PathStyle
	}), nil
}

// quiet is a provider of credentials whose error does not say why there are none.
type quiet struct{ aws.CredentialsProvider }

func (q quiet) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if q.CredentialsProvider == nil {
		return aws.Credentials{}, errNoCredentials
	}
	c, err := q.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, errNoCredentials
	}
	return c, nil
}

// bounded is an HTTP client that limits the answers that are read as a whole.
type bounded struct{ *http.Client }

// Do implements aws.HTTPClient.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	resp, err := b.Client.Do(r) //nolint:gosec // the operator names the store, and redirects are not followed
	if err != nil {
		return resp, err
	}
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = &limited{resp.Body, maxError}
	case r.URL.Query().Has("list-type"):
		resp.Body = &limited{resp.Body, maxPage}
	}
	return resp, nil
}

// limited is a body that fails after a number of bytes.
type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errAnswer
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}

// identify returns the ID of an object's contents: a hash of its place, its ETag and its size. An ETag alone is not enough: two
// objects with one ETag may have different contents.
func (b *Bucket) identify(rel, tag string, size int64) source.ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d", b.at.Endpoint, b.at.Bucket, b.key(rel), tag, size))
	return source.ID{Device: binary.BigEndian.Uint64(sum[:8]), Inode: binary.BigEndian.Uint64(sum[8:16])}
}
