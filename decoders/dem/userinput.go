package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// parseUserInput reads CSGOUserCmdPB, a whole command, which is known to be readable. It reuses the lists of u.
func parseUserInput(u *UserInput, b []byte) {
	*u = UserInput{
		Pawn: noHandle, Attack1History: -1, Attack2History: -1,
		SubtickMoves: u.SubtickMoves[:0], InputHistory: u.InputHistory[:0],
	}
	for m := pb.NewReader(b); m.Next(); {
		switch m.Num {
		case 1:
			parseBaseInput(u, m.Raw)
		case 2:
			u.InputHistory = append(u.InputHistory, InputHistory{Target: -1})
			parseInputHistory(&u.InputHistory[len(u.InputHistory)-1], m.Raw)
		case 6:
			u.Attack1History = m.Int32()
		case 7:
			u.Attack2History = m.Int32()
		case 9:
			u.LeftHand = m.Bool()
		}
	}
}

// parseBaseInput reads CBaseUserCmdPB.
func parseBaseInput(u *UserInput, b []byte) {
	for m := pb.NewReader(b); m.Next(); {
		switch m.Num {
		case 3:
			for q := pb.NewReader(m.Raw); q.Next(); {
				switch q.Num {
				case 1:
					u.Buttons = q.Val
				case 2:
					u.ButtonsChanged = q.Val
				case 3:
					u.ButtonsScrolled = q.Val
				}
			}
		case 4:
			u.ViewAngles, u.HasViewAngles = vector(&m), true
		case 5:
			u.ForwardMove = m.Float32()
		case 6:
			u.LeftMove = m.Float32()
		case 7:
			u.UpMove = m.Float32()
		case 8:
			u.Impulse = m.Int32()
		case 9:
			u.Weapon = m.Int32()
		case 10:
			u.RandomSeed = m.Int32()
		case 11:
			u.MouseDx = m.Int32()
		case 12:
			u.MouseDy = m.Int32()
		case 14:
			u.Pawn = m.Uint32()
		case 18:
			u.SubtickMoves = append(u.SubtickMoves, parseSubtickMove(m.Raw))
		case 21:
			u.Flags = m.Int32()
		}
	}
}

// parseSubtickMove reads CSubtickMoveStep.
func parseSubtickMove(b []byte) (s SubtickMove) {
	for m := pb.NewReader(b); m.Next(); {
		switch m.Num {
		case 1:
			s.Button = m.Val
		case 2:
			s.Pressed = m.Bool()
		case 3:
			s.When = m.Float32()
		case 4:
			s.ForwardDelta = m.Float32()
		case 5:
			s.LeftDelta = m.Float32()
		case 8:
			s.PitchDelta = m.Float32()
		case 9:
			s.YawDelta = m.Float32()
		}
	}
	return s
}

// parseInputHistory reads CSGOInputHistoryEntryPB.
func parseInputHistory(h *InputHistory, b []byte) {
	for m := pb.NewReader(b); m.Next(); {
		switch m.Num {
		case 2:
			h.ViewAngles, h.HasViewAngles = vector(&m), true
		case 4:
			h.RenderTick = m.Int32()
		case 5:
			h.RenderFraction = m.Float32()
		case 6:
			h.PlayerTick = m.Int32()
		case 7:
			h.PlayerFraction = m.Float32()
		case 64:
			h.Frame = m.Int32()
		case 65:
			h.Target = m.Int32()
		case 66:
			h.ShootPosition, h.HasShootPosition = vector(&m), true
		}
	}
}
