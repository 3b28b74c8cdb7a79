package bucket

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scheme is the scheme of the URLs of buckets, with the slashes.
const Scheme = "s3://"

// Is reports whether a text looks like the URL of a bucket.
func Is(text string) bool {
	return len(text) >= len(Scheme) && strings.EqualFold(text[:len(Scheme)], Scheme)
}

// Location is the place of objects.
type Location struct {
	Bucket string
	// Path is the path of an object or a directory in the bucket, without a slash at either end. Empty for the whole bucket.
	Path string
	// Region is the region of the bucket. If it is empty, the AWS configuration decides, and otherwise it is us-east-1.
	Region string
	// Endpoint is the URL of a store that is not Amazon's. Empty for Amazon's.
	Endpoint string
	// PathStyle puts the name of the bucket into the path of the requests, not into the host name. Set with an Endpoint.
	PathStyle bool
	// Anonymous sends requests without credentials.
	Anonymous bool
	// Refresh is how often directories are listed again.
	Refresh time.Duration
}

// Bounds of Location.Refresh.
const (
	DefaultRefresh = 5 * time.Minute
	minRefresh     = time.Second
	maxRefresh     = 7 * 24 * time.Hour
)

var bucketPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$`)

var errCredentials = errors.New("credentials do not belong into a URL: they are taken from the environment, ~/.aws and the like")

// parameters are the parameters that a URL may have.
var parameters = map[string]func(l *Location, value string) error{
	"region": func(l *Location, v string) error {
		if !bucketPattern.MatchString(v) {
			return errors.New("is not the name of a region")
		}
		l.Region = v
		return nil
	},
	"endpoint":   setEndpoint,
	"path_style": func(l *Location, v string) error { return parseBool(&l.PathStyle, v) },
	"anonymous":  func(l *Location, v string) error { return parseBool(&l.Anonymous, v) },
	"refresh": func(l *Location, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < minRefresh || d > maxRefresh {
			return fmt.Errorf("want a duration of %v to %v", minRefresh, maxRefresh)
		}
		l.Refresh = d
		return nil
	},
}

func parseBool(to *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return errors.New("want true or false")
	}
	*to = b
	return nil
}

func setEndpoint(l *Location, v string) error {
	u, err := url.Parse(v)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return errors.New("want http://HOST:PORT or https://HOST")
	case u.User != nil:
		return errCredentials
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return errors.New("want http://HOST:PORT or https://HOST, without a path")
	}
	l.Endpoint, l.PathStyle = u.Scheme+"://"+u.Host, true
	return nil
}

// Parse parses a URL: s3://BUCKET/PATH?PARAMETER=VALUE&... Its errors do not repeat the URL, which may have secrets.
func Parse(text string) (Location, error) {
	l := Location{Refresh: DefaultRefresh}
	u, err := url.Parse(text)
	switch {
	case err != nil, !strings.EqualFold(u.Scheme, "s3"), u.Opaque != "", u.Fragment != "":
		return l, fmt.Errorf("want %sBUCKET/PATH", Scheme)
	case u.User != nil:
		return l, errCredentials
	case !bucketPattern.MatchString(u.Host):
		return l, errors.New("the name of the bucket is invalid")
	}
	l.Bucket, l.Path = u.Host, strings.Trim(u.Path, "/")
	if l.Path != "" && (!fs.ValidPath(l.Path) || strings.ContainsAny(l.Path, "\\\x00")) {
		return l, errors.New(`the path has an element that is empty, "." or "..", or a character that no name has`)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return l, errors.New("the parameters are invalid")
	}
	var names []string
	for name := range parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	for name, list := range values {
		if parameters[name] == nil { // even its name may be a secret
			return l, fmt.Errorf("a parameter is none of %s; %w", strings.Join(names, ", "), errCredentials)
		}
		if len(list) != 1 {
			return l, fmt.Errorf("the parameter %s is given twice", name)
		}
	}
	for _, name := range names { // path_style after endpoint, which sets it
		if v, ok := values[name]; ok {
			if err := parameters[name](&l, v[0]); err != nil {
				return l, fmt.Errorf("the parameter %s: %w", name, err)
			}
		}
	}
	return l, nil
}

// String returns the URL without its parameters.
func (l Location) String() string { return strings.TrimSuffix(Scheme+l.Bucket+"/"+l.Path, "/") }
