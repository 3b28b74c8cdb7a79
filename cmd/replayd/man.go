package main

import (
	"fmt"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/roff"
)

type manCmd struct{}

// Run prints the man page, made from the same declarations as the help.
func (manCmd) Run(con console, app *kong.Kong) error {
	page := mangokong.NewManPage(1, app.Model)
	_, err := fmt.Fprint(con.out, page.Build(roff.NewDocument()))
	return err
}
