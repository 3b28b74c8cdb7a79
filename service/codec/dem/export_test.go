package dem

// ShortSections makes sections as short as they can be until the function is called that it returns.
func ShortSections() (undo func()) {
	was := sectionBytes
	sectionBytes = places
	return func() { sectionBytes = was }
}
