package terminal

// Cells is cells, for tests.
var Cells = cells
