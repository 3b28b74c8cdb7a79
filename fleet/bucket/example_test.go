package bucket_test

import (
	"context"
	"fmt"

	"github.com/replayd/replayd/fleet/bucket"
)

// A URL says where the objects are. Credentials come from where the AWS tools look for them.
func ExampleParse() {
	at, err := bucket.Parse("s3://archive/games/2026?region=eu-west-1&refresh=1h")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(at, at.Bucket, at.Path, at.Region, at.Refresh)
	_, err = bucket.Parse("s3://user:secret@archive/games")
	fmt.Println(err)
	// Output:
	// s3://archive/games/2026 archive games/2026 eu-west-1 1h0m0s
	// credentials do not belong into a URL: they are taken from the environment, ~/.aws and the like
}

// Walk lists everything below a directory; it needs a store that answers, so this example is not run.
func ExampleBucket_Walk() { //nolint:testableexamples // as said
	ctx := context.Background()
	at, err := bucket.Parse("s3://archive/games?endpoint=http://127.0.0.1:9000")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := bucket.Open(ctx, at, bucket.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = b.Walk(ctx, ".", func(found bucket.Found) error {
		fmt.Println(found.Path, found.Tag)
		return nil
	})
	if err != nil {
		fmt.Println(err) // it names what was tried, and no secrets
	}
}
