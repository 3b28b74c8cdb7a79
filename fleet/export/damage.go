package export

// Damage says why a replay could not be read to its end.
type Damage struct {
	// Reason is one of few words, such as CORRUPT.
	Reason string `json:"reason"`
	// Offset is where in the decompressed replay, nil if it is not at a place.
	Offset *int64 `json:"offset,omitempty"`
	// Detail is for people.
	Detail string `json:"detail"`
}

// Damaged sets the end of a replay that is damaged. It reports whether the replay has begun; otherwise there is nothing to finish.
func (e *Export) Damaged(d Damage) bool {
	e.reason, e.detail, e.damage = "DAMAGED", d.Detail, &d
	return e.start != nil
}

// Damage returns the damage of the replay, after ErrThere that which the last export has found. It is nil if there is none.
func (e *Export) Damage() *Damage { return e.damage }
