// Command image makes the container image of a release from its Dockerfile, without a container engine: the same files give
// the same digest, on any machine, and what was tested is what is published.
//
//	image -context DIR -o DIR [-platforms linux/amd64,linux/arm64] [-time SECONDS] [-label NAME=VALUE]... [-push NAME]... DOCKERFILE
//
// It understands what an image of a static program needs: FROM scratch, ARG, COPY, LABEL, USER, EXPOSE, HEALTHCHECK, ENTRYPOINT
// and CMD, and refuses everything else. It writes an OCI layout with an image for each platform, and prints its digest.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// build describes an image.
type build struct {
	dockerfile string
	context    string // the directory from which COPY takes files
	created    time.Time
	labels     map[string]string // in addition to the Dockerfile's labels
}

func run(args []string, out io.Writer) error {
	b := build{labels: map[string]string{}}
	var push []string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&b.context, "context", ".", "the `directory` that COPY takes files from")
	to := flags.String("o", "", "the `directory` to write the OCI layout to")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "what to make images for")
	created := flags.Int64("time", 0, "when it was made, in `seconds` since 1970")
	flags.Func("label", "a `NAME=VALUE` more", func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		b.labels[name] = value
		if !ok {
			return errors.New("it has no =")
		}
		return nil
	})
	flags.Func("push", "a `name` to publish it under, by the credentials of docker login", func(s string) error {
		push = append(push, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *to == "" {
		return errors.New("a Dockerfile and -o are needed")
	}
	b.dockerfile = flags.Arg(0)
	b.created = time.Unix(*created, 0).UTC()
	index, err := b.index(strings.Split(*platforms, ","))
	if err != nil {
		return err
	}
	if _, err := layout.Write(*to, index); err != nil {
		return err
	}
	for _, s := range push {
		ref, err := name.ParseReference(s)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return err
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, digest)
	return err
}

// index returns the images of all platforms. Their media types are Docker's: OCI's know no health check.
func (b *build) index(platforms []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for _, s := range platforms {
		platform, err := v1.ParsePlatform(s)
		if err != nil {
			return nil, err
		}
		image, err := b.image(platform)
		if err != nil {
			return nil, fmt.Errorf("%s for %s: %w", b.dockerfile, s, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

// image returns the image of one platform: one layer with all files.
func (b *build) image(platform *v1.Platform) (v1.Image, error) {
	commands, err := b.commands()
	if err != nil {
		return nil, err
	}
	file := v1.ConfigFile{
		RootFS: v1.RootFS{Type: "layers"}, OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant, Created: v1.Time{Time: b.created},
		Config: v1.Config{Labels: map[string]string{}},
	}
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	config := &file.Config
	vars := map[string]string{"TARGETPLATFORM": platform.String(), "TARGETOS": platform.OS, "TARGETARCH": platform.Architecture}
	for _, command := range commands {
		switch c := command.(type) {
		case *instructions.ArgCommand:
			for _, arg := range c.Args {
				if vars[arg.Key] == "" {
					err = fmt.Errorf("ARG %s has no value", arg.Key)
				}
			}
		case *instructions.CopyCommand:
			err = b.copy(archive, c, vars)
		case *instructions.LabelCommand:
			for _, label := range c.Labels {
				config.Labels[label.Key] = strings.Trim(label.Value, `"`)
			}
		case *instructions.UserCommand:
			config.User = c.User
		case *instructions.ExposeCommand:
			config.ExposedPorts = map[string]struct{}{}
			for _, port := range c.Ports {
				config.ExposedPorts[port+"/tcp"] = struct{}{}
			}
		case *instructions.HealthCheckCommand:
			config.Healthcheck = &v1.HealthConfig{
				Test: c.Health.Test, Interval: c.Health.Interval, Timeout: c.Health.Timeout, StartPeriod: c.Health.StartPeriod, Retries: c.Health.Retries,
			}
		case *instructions.EntrypointCommand:
			config.Entrypoint = c.CmdLine
			err = direct(c.ShellDependantCmdLine)
		case *instructions.CmdCommand:
			config.Cmd = c.CmdLine
			err = direct(c.ShellDependantCmdLine)
		default:
			err = errors.New("it is not understood here")
		}
		if err != nil {
			return nil, fmt.Errorf("%v: %w", command, err)
		}
	}
	for name, value := range b.labels {
		config.Labels[name] = value
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(empty.Image, &file)
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: file.Created, CreatedBy: filepath.Base(b.dockerfile)},
	})
}

// direct refuses a command line for a shell, which an image from scratch does not have.
func direct(c instructions.ShellDependantCmdLine) error {
	if c.PrependShell {
		return errors.New("there is no shell: write it as a list")
	}
	return nil
}

// commands reads the Dockerfile.
func (b *build) commands() ([]instructions.Command, error) {
	text, err := os.Open(b.dockerfile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = text.Close() }()
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	stages, args, err := instructions.Parse(tree.AST, linter.New(&linter.Config{SkipAll: true}))
	if err != nil {
		return nil, err
	}
	if len(stages) != 1 || len(args) > 0 || stages[0].BaseName != "scratch" {
		return nil, errors.New("it must be one stage, FROM scratch")
	}
	return stages[0].Commands, nil
}

// copy adds files to the archive: they are root's, and nobody else may write them.
func (b *build) copy(archive *tar.Writer, c *instructions.CopyCommand, vars map[string]string) error {
	if c.From != "" || c.Chown != "" || c.Chmod != "" || len(c.SourceContents) > 0 || len(c.ExcludePatterns) > 0 || c.Parents {
		return errors.New("it has an option that is not understood here")
	}
	if len(c.SourcePaths) > 1 && !strings.HasSuffix(c.DestPath, "/") {
		return errors.New("many files need a directory, with a / at its end")
	}
	for _, source := range c.SourcePaths {
		source = os.Expand(source, func(name string) string { return vars[name] })
		if !filepath.IsLocal(source) {
			return fmt.Errorf("%s lies outside the context", source)
		}
		from := filepath.Join(b.context, source)
		info, err := os.Lstat(from)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", from)
		}
		to := c.DestPath
		if strings.HasSuffix(to, "/") {
			to = path.Join(to, path.Base(source))
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(path.Clean(to), "/"), Size: int64(len(text)), Mode: mode,
			ModTime: b.created, Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	return nil
}
