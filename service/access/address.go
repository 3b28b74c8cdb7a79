package access

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxy reads a network, such as 10.0.0.0/8, or an address, or "unix", for calls through a socket of this
// machine: the zero Prefix.
func ParseProxy(text string) (netip.Prefix, error) {
	if text == "unix" {
		return netip.Prefix{}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// Address returns from where a call comes: the address of its connection, or, when that is a proxy's that is believed, the
// last one of X-Forwarded-For that is not. Where there are no IP addresses it is the name of the network, such as "unix".
func (g *Gate) Address(peer net.Addr, forwarded []string) string {
	if peer == nil {
		return ""
	}
	from := strings.Split(strings.Join(forwarded, ","), ",")
	addr, _ := addrOf(peer.String())
	for g.Believes(addr) && len(from) > 0 {
		next, ok := addrOf(strings.TrimSpace(from[len(from)-1]))
		if !ok {
			break
		}
		addr, from = next, from[:len(from)-1]
	}
	if !addr.IsValid() {
		return peer.Network()
	}
	return addr.String()
}

// Believes reports whether an address, or with the zero Addr a socket of this machine, is a proxy's that is believed.
func (g *Gate) Believes(addr netip.Addr) bool {
	return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool {
		return p.Contains(addr) || !addr.IsValid() && !p.IsValid()
	})
}

// addrOf reads an address, with or without a port.
func addrOf(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}
