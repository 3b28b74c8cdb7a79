package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the forms of images that are served
	_ "image/png"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// assetsPath is followed by what Assets serves.
const assetsPath = "/assets/"

// overviews is the folder of the images of maps seen from above.
const overviews = "overviews/"

// Limits of assets.
const (
	maxOverview = 64 << 10 // bytes of the text
	maxImage    = 16 << 20 // bytes
	maxSide     = 8192     // pixels
	maxScale    = 10_000   // units of the game to a pixel
	// overviewSide is the width, in pixels, of the image that the scale of an overview is of.
	overviewSide = 1024
)

// overview says which part of a game's world an image shows, seen from above, with y to the north.
type overview struct {
	Image  string  `json:"image,omitempty"` // where the image is, for a request
	Left   float64 `json:"left"`
	Top    float64 `json:"top"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	// Error says why there is no image although there are files for it.
	Error string `json:"error,omitempty"`
}

var (
	mapName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)
	// setting is a line of an overview's text, such as "pos_x" "-2476".
	setting = regexp.MustCompile(`(?m)^\s*"?(pos_x|pos_y|scale)"?\s+"?(-?[0-9]+(?:\.[0-9]+)?)"?`)
	// endings are what follows a map's name in the names of its images, the first that exists counts.
	endings = []string{"_radar.png", "_radar.jpg", ".png", ".jpg"}
)

// Assets serves images of maps from a directory, which has for each map a text and an image in overviews, as Counter-Strike's resource
// folder has them, and in mapres the images that maps of DDNet refer to. /assets/overview/MAP says where the image is and what it shows,
// with no content for a map without files; /assets/image/FILE is the image; /assets/mapres/NAME is an image of a map of DDNet, with no
// content for one that is not there. A nil root has no files.
func Assets(root *os.Root) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, assetsPath), "/")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case kind == "overview" && mapName.MatchString(name):
			serveOverview(w, root, name)
		case kind == "image" && root != nil:
			serveOverviewImage(w, r, root, name)
		case kind == "mapres" && mapName.MatchString(name):
			if root == nil || !serveImage(w, r, root, "mapres/"+name+".png") {
				w.WriteHeader(http.StatusNoContent)
			}
		default:
			http.NotFound(w, r)
		}
	})
}

// IsAsset reports whether a request is for Assets.
func IsAsset(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.HasPrefix(r.URL.Path, assetsPath)
}

func serveOverview(w http.ResponseWriter, root *os.Root, name string) {
	found, err := findOverview(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.WriteHeader(http.StatusNoContent) // browsers report a 404 as an error of the page
		return
	case err != nil:
		found = overview{Error: err.Error()}
	}
	body, err := json.Marshal(found)
	if err != nil {
		http.Error(w, "the overview cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may be gone
}

// findOverview reads the overview of a map. The error is fs.ErrNotExist if the directory has none.
func findOverview(root *os.Root, name string) (overview, error) {
	if root == nil {
		return overview{}, fs.ErrNotExist
	}
	text, _, err := readAsset(root, overviews+name+".txt", maxOverview)
	if err != nil {
		return overview{}, err
	}
	values := map[string]float64{}
	for _, m := range setting.FindAllSubmatch(text, -1) {
		if _, twice := values[string(m[1])]; twice {
			continue
		}
		if values[string(m[1])], err = strconv.ParseFloat(string(m[2]), 64); err != nil {
			return overview{}, fmt.Errorf("%s.txt: %w", name, err)
		}
	}
	if len(values) < 3 || values["scale"] <= 0 || values["scale"] > maxScale {
		return overview{}, fmt.Errorf("%s.txt lacks pos_x, pos_y or a scale above 0, of %d at most", name, maxScale)
	}
	for _, ending := range endings {
		_, config, _, err := readImage(root, overviews+name+ending)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return overview{}, err
		}
		width := values["scale"] * overviewSide
		return overview{
			Image: assetsPath + "image/" + name + ending, Left: values["pos_x"], Top: values["pos_y"],
			Width: width, Height: width * float64(config.Height) / float64(config.Width),
		}, nil
	}
	return overview{}, fmt.Errorf("%s.txt is there, and no image %s%s", name, name, strings.Join(endings, " or "))
}

// readImage reads an image, and checks what it is.
func readImage(root *os.Root, file string) (data []byte, config image.Config, modified time.Time, err error) {
	if data, modified, err = readAsset(root, file, maxImage); err != nil {
		return nil, config, modified, err
	}
	config, _, err = image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", file, err)
	case config.Width < 1 || config.Height < 1 || config.Width > maxSide || config.Height > maxSide:
		err = fmt.Errorf("%s has %d x %d pixels, %d at most are served", file, config.Width, config.Height, maxSide)
	}
	return data, config, modified, err
}

func serveOverviewImage(w http.ResponseWriter, r *http.Request, root *os.Root, file string) {
	stem, ending := file, ""
	for _, e := range endings {
		if s, ok := strings.CutSuffix(file, e); ok {
			stem, ending = s, e
			break
		}
	}
	if ending == "" || !mapName.MatchString(stem) || !serveImage(w, r, root, overviews+file) {
		http.NotFound(w, r)
	}
}

// serveImage serves an image of the directory. It answers nothing and returns false if there is none that can be served.
func serveImage(w http.ResponseWriter, r *http.Request, root *os.Root, file string) bool {
	data, _, modified, err := readImage(root, file)
	if err != nil {
		return false
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, modified.UnixNano(), len(data)))
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	http.ServeContent(w, r, file, time.Time{}, bytes.NewReader(data))
	return true
}

// readAsset reads a file of the directory that is no larger than most. No link leads out of the directory.
func readAsset(root *os.Root, file string, most int64) ([]byte, time.Time, error) {
	f, err := root.Open(file)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, time.Time{}, fmt.Errorf("%s is no file", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, time.Time{}, err
	}
	if int64(len(data)) > most {
		return nil, time.Time{}, fmt.Errorf("%s has more than %d bytes", file, most)
	}
	return data, info.ModTime(), nil
}
