package access

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxy parses a network such as 10.0.0.0/8, an address, or "unix". "unix" stands for calls through a Unix socket of this
// machine, and ParseProxy returns the zero Prefix for it.
func ParseProxy(text string) (netip.Prefix, error) {
	if text == "unix" {
		return netip.Prefix{}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// Address returns the address of the caller: the address of the connection or, if that belongs to a trusted proxy, the last
// address in X-Forwarded-For that belongs to none. Without an IP address it returns the name of the network, such as "unix".
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

// Believes reports whether an address belongs to a trusted proxy. The zero Addr stands for a Unix socket of this machine.
func (g *Gate) Believes(addr netip.Addr) bool {
	return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool {
		return p.Contains(addr) || !addr.IsValid() && !p.IsValid()
	})
}

// addrOf parses an address, with or without a port.
func addrOf(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}
