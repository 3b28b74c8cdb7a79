package playcast

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Pattern is a pattern of URLs that may be followed, such as https://relay.example.org/tv/*. A * stands for any characters within a label
// of the host or an element of the path; it stands for no IP address. ?* at the end allows a query. Everything else is as it is, and the
// path is all of the path.
type Pattern struct {
	scheme, port string
	labels       []string // of the host
	path         string
	query        string
}

// ParsePattern parses a Pattern.
func ParsePattern(text string) (p Pattern, err error) {
	rest, query, _ := strings.Cut(text, "?")
	if strings.ContainsAny(rest, `[]\%#@`) || strings.Contains(query, "#") {
		return p, errors.New("want http://HOST/PATH or https://HOST/PATH, with * for what may be anything")
	}
	u, err := url.Parse(strings.ReplaceAll(rest, "*", "0any0")) // a port and a host may not have a *
	if err != nil {
		return p, errors.New("this is no URL")
	}
	if err := Check(u); err != nil {
		return p, err
	}
	u = plainURL(u)
	back := func(s string) string { return strings.ReplaceAll(s, "0any0", "*") }
	p = Pattern{scheme: u.Scheme, port: u.Port(), labels: strings.Split(back(u.Hostname()), "."), path: back(u.Path), query: query}
	return p, nil
}

// Match reports whether a URL may be followed by the pattern.
func (p Pattern) Match(u *url.URL) bool {
	u = plainURL(u)
	if u.Scheme != p.scheme || u.Port() != p.port || p.query != "*" && u.RawQuery != p.query {
		return false
	}
	if u.RawPath != "" || u.Path != "" && path.Clean(u.Path) != u.Path {
		return false // a path that servers may read as another one
	}
	if ok, err := path.Match(p.path, u.Path); err != nil || !ok {
		return false
	}
	host := strings.Join(p.labels, ".")
	if _, err := netip.ParseAddr(u.Hostname()); err == nil || numeric(u.Hostname()) {
		return u.Hostname() == host
	}
	return slices.EqualFunc(p.labels, strings.Split(u.Hostname(), "."), func(pattern, label string) bool {
		ok, err := path.Match(pattern, label)
		return err == nil && ok
	})
}

// numeric reports whether a system may take a host for an address, such as 127.1 or 2130706433.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9'
}

// Plain returns a URL as a Follower knows it: two that differ in nothing that matters are the same.
func Plain(u *url.URL) string { return plainURL(u).String() }

// plainURL returns a URL in the form in which equal ones are equal.
func plainURL(u *url.URL) *url.URL {
	same := *u
	same.Scheme, same.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if same.Scheme == scheme {
			same.Host = strings.TrimSuffix(same.Host, port)
		}
	}
	same.Path, same.RawPath = strings.TrimRight(same.Path, "/"), strings.TrimRight(same.RawPath, "/")
	same.ForceQuery = false
	return &same
}
