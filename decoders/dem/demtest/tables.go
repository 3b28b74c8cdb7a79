package demtest

import "github.com/golang/snappy"

// Entries writes entries of a string table.
func (t Table) Entries(entries ...Entry) []byte {
	var w Bits
	last := -1
	for i, e := range entries {
		if w.Bool(e.Index == last+1); e.Index != last+1 {
			w.Varint(uint64(uint32(e.Index - last - 2)))
		}
		last = e.Index
		if w.Bool(!e.NoKey); !e.NoKey {
			if w.Bool(e.History > 0); e.History > 0 {
				have := min(i, 32)
				w.Bits(uint64(have-e.History), 5)
				w.Bits(uint64(e.Prefix), 5)
				w.CString(e.Key[e.Prefix:])
			} else {
				w.CString(e.Key)
			}
		}
		if w.Bool(e.HasValue); !e.HasValue {
			continue
		}
		if t.FixedBits > 0 {
			for n := 0; n < t.FixedBits; n += 8 {
				w.Bits(uint64(e.Value[n/8]), min(8, t.FixedBits-n))
			}
			continue
		}
		value := e.Value
		if t.Flags&1 != 0 {
			if w.Bool(e.Compress); e.Compress {
				value = snappy.Encode(nil, value)
			}
		}
		if t.Varint {
			w.UBitVar(uint32(len(value)))
		} else {
			w.Bits(uint64(len(value)), 17)
		}
		w.Raw(value)
	}
	return w.Bytes()
}

// Create returns the message that creates the table.
func (t Table) Create(name string, compress bool, entries ...Entry) Message {
	data := t.Entries(entries...)
	p := Proto(nil).Text(1, name).Varint(2, int64(len(entries)))
	if t.FixedBits > 0 {
		p = p.Varint(3, 1).Varint(4, int64(t.FixedBits+7)/8).Varint(5, int64(t.FixedBits))
	}
	p = p.Varint(6, int64(t.Flags))
	if compress {
		p = p.Varint(8, int64(len(data))).Varint(9, 1)
		data = snappy.Encode(nil, data)
	}
	p = p.Bytes(7, data)
	if t.Varint {
		p = p.Varint(10, 1)
	}
	return Message{44, p}
}

// Update returns the message that changes entries of the table with a number.
func (t Table) Update(id int, entries ...Entry) Message {
	return Message{45, Proto(nil).Varint(1, int64(id)).Varint(2, int64(len(entries))).Bytes(3, t.Entries(entries...))}
}

// Dump returns a part of CDemoStringTables: a table with all its entries.
func Dump(name string, entries ...Entry) Proto {
	p := Proto(nil).Text(1, name)
	for _, e := range entries {
		item := Proto(nil).Text(1, e.Key)
		if e.HasValue {
			item = item.Bytes(2, e.Value)
		}
		p = p.Bytes(2, item)
	}
	return Proto(nil).Bytes(1, p)
}
