package command

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	client "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// printCSV prints the rows of the tables of one kind as CSV, with a first line of names, as export writes them.
func printCSV(out io.Writer, note func(string), progress *progress) func(client.Response) error {
	c := &csvTables{out: out}
	return func(r client.Response) error {
		progress.add(len(r.Wire))
		if r.Batch == nil {
			noteResponse(note, r.Message)
			return nil
		}
		for _, t := range r.Batch.Tables() {
			if err := c.add(t); err != nil {
				return err
			}
		}
		return nil
	}
}

// csvTables writes tables as they come.
type csvTables struct {
	out    io.Writer
	schema []byte // of the first table, or of the first one of a further replay
	writer tablefile.Writer
}

func (c *csvTables) add(t *replaydv1.Table) error {
	if len(t.GetSchema()) > 0 {
		c.schema = bytes.Clone(t.GetSchema())
	}
	if t.GetRows() == 0 {
		return nil
	}
	reader, err := ipc.NewReader(io.MultiReader(bytes.NewReader(c.schema), bytes.NewReader(t.GetData())))
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		record := reader.RecordBatch()
		if c.writer == nil {
			if c.writer, err = tablefile.New(tablefile.CSV, c.out, record.Schema(), nil, nil); err != nil {
				return err
			}
		}
		if err := c.writer.Write([]arrow.RecordBatch{record}); err != nil {
			return err
		}
	}
	return reader.Err()
}
