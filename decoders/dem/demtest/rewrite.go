package demtest

// Rewrite returns a copy of a demo with its records changed by f. f gets the number and the decompressed contents of a record.
// It returns new contents, or nil to leave the record unchanged.
func Rewrite(data []byte, f func(command uint32, payload []byte) []byte) ([]byte, error) {
	all, err := records(data)
	if err != nil {
		return nil, err
	}
	d := New()
	for _, r := range all {
		payload, err := r.payload()
		if err != nil { // the payload is damaged on purpose
			d.Record(r.command|64, r.tick, r.stored)
			continue
		}
		if out := f(r.command, payload); out != nil {
			d.Record(r.command, r.tick, out)
			continue
		}
		d.Record(r.command, r.tick, payload)
	}
	return d.Bytes(), nil
}

// Until returns the beginning of a demo, up to the given number of packets, and the tick of the last one.
func Until(data []byte, packets int) (d *Demo, tick int32, err error) {
	all, err := records(data)
	if err != nil {
		return nil, 0, err
	}
	d = New()
	for _, r := range all {
		if r.command == CmdPacket {
			packets--
		}
		if packets < 0 {
			break
		}
		payload, err := r.payload()
		if err != nil {
			return nil, 0, err
		}
		d.Record(r.command, r.tick, payload)
		tick = r.tick
	}
	return d, tick, nil
}

// Without returns a protobuf message without one of its fields.
func Without(message []byte, field int) []byte {
	out := []byte{}
	fieldsRaw(message, func(num int, whole, _ []byte) {
		if num != field {
			out = append(out, whole...)
		}
	})
	return out
}
