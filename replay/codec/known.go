package codec

// Known returns a pointer to a value for an optional field of a message. It returns nil for the zero value, with which decoders
// mark unknown values.
func Known[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}
