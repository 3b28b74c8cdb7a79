package freeport

import (
	"net"
	"testing"
)

func TestAddrIsNeverGivenTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		addr, err := Addr()
		if err != nil {
			t.Fatal(err)
		}
		if seen[addr] {
			t.Fatalf("%s twice", addr)
		}
		seen[addr] = true
	}
}

func TestAddrIsFree(t *testing.T) {
	first, err := Addr()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", first)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	next.Add(^uint32(0)) // the taken address comes next again
	second, err := Addr()
	if err != nil {
		t.Fatal(err)
	}
	if second == first {
		t.Fatalf("%s, which is taken", second)
	}
}
