// Package bucket reads replays from a bucket of object storage that speaks S3. A [Bucket] is a catalog.Store.
//
// # Reading
//
// An object is read by ranges. Each request carries the object's ETag (If-Match), and each answer is compared with the expected ETag,
// range and the length that are expected, so that bytes of two versions of an object are never mixed: reading fails with
// source.ErrReplaced once the object has changed. A reader that goes from front to back is given larger and larger ranges, and
// the next ones are fetched while it works. A reader that jumps gets small ranges. An open object holds at most [MaxHeld] bytes.
//
// # Listing
//
// A directory is what lies between two slashes of the keys. It is listed page by page. Keys are names under the rules of package
// catalog; others are not listed.
//
// # A store that fails
//
// A request is tried again, with growing pauses, until its budget is used up: see [Options]. Errors are typed by what a caller can
// do (fs.ErrNotExist, fs.ErrPermission, source.ErrReplaced, source.ErrStore), and have the status and the code of the answer, and
// nothing else of it: a store's own texts can hold secrets. Answers are bounded: a page of a list, an error, the entries of a
// directory.
//
// # Credentials
//
// They come from where the AWS tools look for them: the environment, ~/.aws, a web identity, the container, the instance.
// Never from a URL: [Parse] refuses such a URL, without repeating it.
//
// A [Bucket] is safe for concurrent use. It starts nothing before its first request.
package bucket
