// Package terminal lays out descriptions of replays for people: a list with a line for each replay, and one replay in detail.
// Programs read JSON instead.
//
// Names of players, maps and servers come from files, and files may come from anybody. So every text is cleaned before it is printed:
// nothing in a file can move the cursor, set a colour, or turn the direction of what follows.
package terminal
