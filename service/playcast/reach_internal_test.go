package playcast

import (
	"net/netip"
	"testing"
)

// TestReachable: which addresses a relay's name may lead to.
func TestReachable(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for text, want := range map[string]bool{
		"203.0.113.9": true, "2001:db8::1": true, "10.1.2.3": true, "192.0.2.7": true,
		"10.2.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "fe80::1": false, "fd00::1": false, "::": false, "ff02::1": false,
	} {
		if got := reachable(netip.MustParseAddr(text), netip.Addr{}, networks); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if at := netip.MustParseAddr("127.0.0.1"); !reachable(at, at, nil) {
		t.Error("the address in the URL itself")
	}
}
