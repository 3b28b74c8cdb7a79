package dem

import "errors"

// sectionBytes is the length of a demo's sections, in bytes. A section begins with the first record after a multiple of it.
// Batches end with sections, whoever decodes them, so that responses do not depend on whether sections were decoded at once: those of
// tables, which one reader fills, do not. It is a variable for tests.
var sectionBytes int64 = 4 * places

// errSection means that the reader's section ends.
var errSection = errors.New("the section ends")

// section is the place of a reader among the sections.
type section struct {
	cuts   bool  // batches end with sections
	number int64 // of the next record's section
	end    int64 // the offset at which the reader stops, 0 for none
	cut    bool  // the decoder was paused because another section begins
	over   bool  // the decoder was paused because it reached end
}

// enters notes the offset of the next record. It reports whether the decoder must pause before it.
func (s *section) enters(offset int64) (pause bool) {
	if s.end > 0 && offset >= s.end {
		s.over, s.cut = true, true
		return true
	}
	if offset/sectionBytes == s.number {
		return false
	}
	s.number = offset / sectionBytes
	s.cut = s.cuts
	return s.cut
}

// reached reports whether the decoder was paused between two sections, once for each.
func (s *section) reached() bool {
	cut := s.cut
	s.cut = false
	return cut
}
