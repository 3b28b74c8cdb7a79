package dem

import "github.com/replayd/replayd/decoders/dem/internal/pb"

// readVoice reads CSVCMsg_VoiceData.
func readVoice(_ *Decoder, ev *Event, m *pb.Reader) {
	v := &ev.Voice
	*v = Voice{PlayerSlot: -1, EntityIndex: -1, PacketOffsets: v.PacketOffsets[:0]}
	for m.Next() {
		switch m.Num {
		case 1:
			v.readAudio(m)
		case 2:
			v.PlayerSlot = m.Int32()
		case 3:
			v.Proximity = m.Bool()
		case 4:
			v.SteamId = m.Val
		case 5:
			v.AudibleMask = m.Int32()
		case 6:
			v.Tick = m.Uint32()
		case 7:
			v.Passthrough, v.HasPassthrough = m.Int32(), true
		case 8:
			v.EntityIndex = m.Int32()
		}
	}
}

// readAudio reads an embedded CMsgVoiceAudio.
func (v *Voice) readAudio(m *pb.Reader) {
	v.Format = VoiceFormatSteam // unless the message states another format
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			v.Format = VoiceFormat(q.Int32() + 1)
		case 2:
			v.Data, v.Size = q.Raw, uint32(len(q.Raw))
		case 3:
			v.SequenceBytes, v.HasSequenceBytes = q.Int32(), true
		case 4:
			v.Section, v.HasSection = q.Uint32(), true
		case 5:
			v.SampleRate = q.Uint32()
		case 6:
			v.SampleOffset, v.HasSampleOffset = q.Uint32(), true
		case 7:
			v.Packets, v.HasPackets = q.Uint32(), true
		case 8:
			v.PacketOffsets = q.AppendUint32s(v.PacketOffsets)
		case 9:
			v.Level, v.HasLevel = q.Float32(), true
		}
	}
}
