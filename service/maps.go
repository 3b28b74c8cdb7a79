package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/source"
)

// mapsFor is how long the list of maps is used before it is refreshed.
const mapsFor = 10 * time.Second

// maps finds the maps of games among the replays of the catalogue. It is safe for concurrent use.
type maps struct {
	catalog *catalog.Catalog
	index   *index.Index

	mu     sync.Mutex
	listed time.Time
	bySize map[int64][]source.Info
	sums   map[mapKey]mapSum
}

// mapKey identifies the contents of a file.
type mapKey struct {
	id       source.ID
	size     int64
	modified time.Time
}

// mapSum holds the checksums by which games identify their maps, in hexadecimal digits.
type mapSum struct{ sha256, crc string }

func newMaps(c *catalog.Catalog, x *index.Index) *maps {
	return &maps{catalog: c, index: x, sums: map[mapKey]mapSum{}}
}

// find returns the name of the replay that is the map of a game, or an empty string. Maps are identified by their SHA-256;
// headers written before DDNet 11.2 have only size and CRC-32.
func (m *maps) find(ctx context.Context, r *replaydv1.Replay) (string, error) {
	game := r.GetTeehistorian()
	if game == nil || game.GetMapSize() <= 0 {
		return "", nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.list(ctx); err != nil {
		return "", err
	}
	for _, info := range m.bySize[game.GetMapSize()] {
		if seen(ctx, info.Name, info.Format) != nil {
			continue
		}
		sum, err := m.sum(ctx, &info)
		if err != nil {
			continue // an unreadable file cannot be the map
		}
		if want := game.GetMapSha256(); want != "" && want == sum.sha256 ||
			want == "" && cmp.Or(game.GetMapCrc(), "-") == sum.crc {
			return info.Name, nil
		}
	}
	return "", ctx.Err()
}

// list lists the maps of all roots.
func (m *maps) list(ctx context.Context) error {
	if time.Since(m.listed) < mapsFor {
		return nil
	}
	bySize := map[int64][]source.Info{}
	known := map[mapKey]mapSum{}
	for token := ""; ; {
		page, err := m.index.List(ctx, index.Query{Formats: []decoders.Format{decoders.Datafile}}, token, maxPage)
		if err != nil {
			return err
		}
		for _, e := range page.Replays {
			info := e.Info
			if info.Compression != source.Plain {
				continue
			}
			bySize[info.Size] = append(bySize[info.Size], info)
			if sum, ok := m.sums[keyOf(&info)]; ok {
				known[keyOf(&info)] = sum
			}
		}
		if token = page.Next; token == "" {
			m.bySize, m.sums, m.listed = bySize, known, time.Now()
			return nil
		}
	}
}

func keyOf(info *source.Info) mapKey { return mapKey{info.ID, info.Size, info.Modified} }

// sum reads a map, once.
func (m *maps) sum(ctx context.Context, info *source.Info) (mapSum, error) {
	if sum, ok := m.sums[keyOf(info)]; ok {
		return sum, nil
	}
	file, err := m.catalog.OpenContext(ctx, info.Name)
	if err != nil {
		return mapSum{}, err
	}
	defer func() { _ = file.Close() }()
	sha, crc := sha256.New(), crc32.NewIEEE()
	if _, err := io.Copy(io.MultiWriter(sha, crc), io.NewSectionReader(file.Input().At, 0, info.Size)); err != nil {
		return mapSum{}, err
	}
	sum := mapSum{hex.EncodeToString(sha.Sum(nil)), fmt.Sprintf("%08x", crc.Sum32())}
	m.sums[keyOf(info)] = sum
	return sum, ctx.Err()
}
