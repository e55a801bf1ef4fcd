// Package s3 is an engine for stores in an S3 bucket, on a server that heeds If-Match and
// If-None-Match when it puts: AWS, MinIO, and others.
//
//	e, err := s3.Connect(ctx, "s3://bucket/prefix?region=eu-central-1")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// # URL
//
// The parameters of the URL are
//
//   - region, where the environment has none,
//   - endpoint, the http or https URL of a server that is not AWS.
//
// Credentials are found as every AWS SDK finds them: in the environment, in the files of the user, by the role
// of a container or machine. They must allow s3:GetObject and s3:PutObject on prefix/*, and s3:ListBucket on
// the bucket. Without the latter nobody can tell a missing object from a forbidden one.
//
// # Objects
//
// All entries are in the object prefix/entries. A swap replaces that object as a whole if its ETag
// is the one that was read. That suits some thousand counters.
//
// At its first use an engine tries with the object prefix/trial whether the server heeds
// conditions, and refuses a server that does not. What the engine can't find out:
//
//   - a server that first compares, and then puts, with other puts in between,
//   - conditions that hold only on one of several sites, as with replication in both directions.
//
// Take one bucket in one region, of a server whose conditional puts are atomic.
//
// # Lineage and position
//
// The lineage is a random token in the object. It also changes when the object is at least 20
// minutes younger than its content: then a backup or an older version was copied to the object's
// place. The position is the number of swaps. The time is that of the Date header, to a second.
//
// A loss that no process can notice has to be reported:
//
//   - a copy of content that is younger than 20 minutes,
//   - a copy that keeps its date, as replicas do,
//   - an older version that is back because newer ones were deleted, unless a process has seen a
//     newer one.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/document"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in an object. It implements [lease.Engine].
type Engine struct{ *engine }

type engine = document.Engine

// A Config says where the object is.
type Config struct {
	Bucket string
	Prefix string // what the names of the engine's objects begin with, up to a slash; "randflake" if empty
}

// New returns an engine on a client, which stays the caller's. The error is that the Config names no bucket.
func New(client *s3.Client, c Config) (*Engine, error) {
	if c.Bucket == "" {
		return nil, errors.New("s3: want the name of a bucket")
	}
	prefix := cmp.Or(strings.Trim(c.Prefix, "/"), "randflake")
	return &Engine{document.New(&object{client, c.Bucket, prefix}, math.MaxInt)}, nil
}

// Connect returns an engine for a URL. It reads the environment for what the URL does not say, and sends nothing yet.
func Connect(ctx context.Context, url string) (*Engine, error) {
	p, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("s3", err)
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(p.region))
	if err != nil {
		return nil, fmt.Errorf("s3: configuration: %w", err)
	}
	if c.Region == "" && p.endpoint == "" {
		return nil, errors.New("s3: no region: set AWS_REGION, or add region=... to the URL")
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		o.Region = cmp.Or(o.Region, "us-east-1") // the region that servers without regions assume
		if p.endpoint != "" {
			o.BaseEndpoint = &p.endpoint
			o.UsePathStyle = true
		}
		// Not every server knows the checksums that are optional.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return New(client, p.config)
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, err := parse(url)
	return storeurl.WrapError("s3", err)
}

// A place is what a URL says.
type place struct {
	config           Config
	region, endpoint string
}

// parse splits a URL. Errors show nothing of it but its parameters.
func parse(raw string) (place, error) {
	u, query, err := storeurl.ParseURL(raw)
	if err != nil {
		return place{}, err
	}
	p := place{
		config:   Config{Bucket: u.Host, Prefix: u.Path},
		region:   storeurl.TakeParameter(query, "region"),
		endpoint: storeurl.TakeParameter(query, "endpoint"),
	}
	if u.Scheme != "s3" || p.config.Bucket == "" || u.User != nil || u.Fragment != "" {
		return p, errors.New("want s3://BUCKET/PREFIX?region=REGION; " +
			"credentials come from the environment, as for every AWS SDK")
	}
	if p.endpoint != "" && !storeurl.IsServer(p.endpoint) {
		return p, errors.New("endpoint: want http://HOST:PORT or https://HOST:PORT")
	}
	return p, storeurl.CheckAllTaken(query, "region or endpoint")
}

// An object is the backend of an engine.
type object struct {
	client         *s3.Client
	bucket, prefix string
}

// Get implements [document.Backend].
func (o *object) Get(ctx context.Context) (d document.Document, err error) {
	out, err := o.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.bucket, Key: o.key("entries")})
	if err == nil {
		defer out.Body.Close()
		d.Content, err = io.ReadAll(out.Body)
	}
	if status(err) == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", lease.ErrNoSpace, err)
	}
	if err != nil {
		return d, err
	}
	d.Tag = aws.ToString(out.ETag)
	d.Made = aws.ToTime(out.LastModified)
	d.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	return d, nil
}

// Put implements [document.Backend].
func (o *object) Put(ctx context.Context, content []byte, tag string) (document.Document, error) {
	d, err := o.put(ctx, "entries", content, tag)
	if unchanged(err) || cutOff(err) {
		return d, document.ErrChanged
	}
	if document.ChangedNothing(status(err)) {
		return d, swap.Unmade(err)
	}
	return d, err
}

// cutOff reports whether the end of a request could not be sent: a server may close the connection
// as soon as it sees that the condition doesn't hold.
func cutOff(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && (failed.Op == "write" || failed.Op == "readfrom")
}

// put puts an object if it has the tag, or if there is none if the tag is empty. It sends the object once, without
// the client's retries: after an error the request may have taken effect, or may still do so.
func (o *object) put(ctx context.Context, name string, content []byte, tag string) (d document.Document, err error) {
	in := &s3.PutObjectInput{
		Bucket:      &o.bucket,
		Key:         o.key(name),
		Body:        bytes.NewReader(content),
		ContentType: aws.String("application/json"),
	}
	if tag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &tag
	}
	out, err := o.client.PutObject(ctx, in, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return d, err
	}
	d.Tag = aws.ToString(out.ETag)
	d.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	return d, nil
}

// Check implements [document.Backend]. Of its three puts only the first may succeed, and it does if
// there is no object yet.
func (o *object) Check(ctx context.Context) error {
	const another = `"00000000000000000000000000000000"` // the ETag of another object
	for i, tag := range []string{"", "", another} {
		_, err := o.put(ctx, "trial", []byte("{}"), tag)
		switch {
		case unchanged(err), err == nil && i == 0: // as it should be
		case err == nil:
			return fmt.Errorf("%w: the server put an object against If-None-Match or If-Match: "+
				"take one that heeds them", lease.ErrUnsafe)
		case status(err) == http.StatusNotImplemented:
			return fmt.Errorf("%w: the server knows no If-None-Match or If-Match: take one that does: %w",
				lease.ErrUnsafe, err)
		default:
			return err
		}
	}
	return nil
}

// String says where the object is.
func (o *object) String() string {
	endpoint := aws.ToString(o.client.Options().BaseEndpoint)
	return strings.TrimSpace(fmt.Sprintf("s3://%s/%s %s", o.bucket, o.prefix, endpoint))
}

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok {
		return 0
	}
	return response.HTTPStatusCode()
}

// unchanged reports whether the server says that it put nothing and that another try may help: the
// condition does not hold, another request was in the way, or the object is gone.
func unchanged(err error) bool {
	switch status(err) {
	case http.StatusPreconditionFailed, http.StatusConflict:
		return true
	}
	said, ok := errors.AsType[smithy.APIError](err)
	return ok && said.ErrorCode() == "NoSuchKey"
}

// key returns the key of one of the engine's objects.
func (o *object) key(name string) *string { return aws.String(o.prefix + "/" + name) }
