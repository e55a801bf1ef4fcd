// Package s3 keeps a store in one object of an S3 bucket, on a server that heeds If-Match and If-None-Match when it puts: AWS,
// MinIO, and others.
//
//	e, err := s3.Connect(ctx, "s3://bucket/prefix?region=eu-central-1")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// The parameters of the URL are region, where the environment has none, and endpoint, the http or https URL of a server that
// is not AWS. Credentials are found as every AWS SDK finds them: in the environment, in the files of the user, by the role of
// a container or machine. They must allow s3:GetObject and s3:PutObject on prefix/* and s3:ListBucket on the bucket, without
// which nobody can tell a missing object from a forbidden one.
//
// All entries are in the object prefix/entries, which a swap replaces as a whole if its ETag is the one that was read: that
// suits some thousand counters. At its first use an engine tries with the object prefix/trial whether the server heeds
// conditions, and refuses one that does not. What it can't find out: conditions that the server compares first, and then puts, with
// others in between, and conditions that hold only on one of several sites, as with replication in both directions. Take one bucket in
// one region, of a server whose conditional puts are atomic.
//
// Time is that of the Date header, to a second. Lineage is a random token in the object, which changes when the object is at least 20
// minutes younger than its content: when a backup or an older version was copied to its place. Position is the number of
// swaps. A loss that no process can notice has to be reported:
//
//   - a copy of content younger than that,
//   - a copy that keeps its date, as replicas do,
//   - an older version that is back because newer ones were deleted, unless a process has seen a newer one.
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
	"net/url"
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
)

// An Engine keeps entries in an object. It implements [lease.Engine].
type Engine struct{ *document.Engine }

// New returns an engine on a client, which stays the caller's. prefix is what the names of its objects begin with, up to a
// slash; "randflake" if empty.
func New(client *s3.Client, bucket, prefix string) *Engine {
	return &Engine{document.New(&object{client, bucket, cmp.Or(strings.Trim(prefix, "/"), "randflake")}, math.MaxInt)}
}

// Connect returns an engine for a URL. It reads the environment for what the URL does not say, and sends nothing yet.
func Connect(ctx context.Context, url string) (*Engine, error) {
	p, err := parse(url)
	if err != nil {
		return nil, err
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(p.region))
	if err != nil {
		return nil, fmt.Errorf("s3: configuration: %w", err)
	}
	if c.Region == "" && p.endpoint == "" {
		return nil, errors.New("s3: no region: set AWS_REGION, or add region=... to the URL")
	}
	return New(s3.NewFromConfig(c, func(o *s3.Options) {
		o.Region = cmp.Or(o.Region, "us-east-1") // the region that servers without regions assume
		if p.endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &p.endpoint, true
		}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired // not every server knows the others
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}), p.bucket, p.prefix), nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, err := parse(url)
	return err
}

type place struct{ bucket, prefix, region, endpoint string }

func parse(raw string) (p place, err error) {
	u, query, err := storeurl.ParseURL(raw)
	if err != nil {
		return p, fmt.Errorf("s3: %w", err)
	}
	p = place{u.Host, u.Path, storeurl.Take(query, "region"), storeurl.Take(query, "endpoint")}
	if u.Scheme != "s3" || p.bucket == "" || u.User != nil || u.Fragment != "" {
		return p, errors.New("s3: URL: want s3://BUCKET/PREFIX?region=REGION; credentials come from the environment, as for every AWS SDK")
	}
	if end, err := url.Parse(p.endpoint); p.endpoint != "" && (err != nil || end.Host == "" || end.User != nil || end.Scheme != "http" && end.Scheme != "https") {
		return p, errors.New("s3: URL: endpoint: want http://HOST:PORT or https://HOST:PORT")
	}
	for name := range query {
		return p, fmt.Errorf("s3: URL: %w", storeurl.Unknown(name, "region or endpoint"))
	}
	return p, nil
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
	d.Version, d.Made = aws.ToString(out.ETag), aws.ToTime(out.LastModified)
	d.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	return d, nil
}

// Put implements [document.Backend].
func (o *object) Put(ctx context.Context, content []byte, version string) (document.Document, error) {
	condition := ifNone
	if version != "" {
		condition = ifMatch(version)
	}
	d, err := o.put(ctx, "entries", content, condition)
	if sent := (*net.OpError)(nil); unchanged(err) || errors.As(err, &sent) && (sent.Op == "write" || sent.Op == "readfrom") {
		err = document.ErrChanged // not all was sent: a server may close the connection when it sees that the condition does not hold
	}
	return d, err
}

// put sends an object once: after an error the request may have taken effect, or still will.
func (o *object) put(ctx context.Context, name string, content []byte, condition func(*s3.PutObjectInput)) (d document.Document, err error) {
	in := &s3.PutObjectInput{Bucket: &o.bucket, Key: o.key(name), Body: bytes.NewReader(content), ContentType: aws.String("application/json")}
	condition(in)
	out, err := o.client.PutObject(ctx, in, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	if err == nil {
		d.Version = aws.ToString(out.ETag)
		d.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	}
	return d, err
}

func ifNone(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }

func ifMatch(etag string) func(in *s3.PutObjectInput) {
	return func(in *s3.PutObjectInput) { in.IfMatch = &etag }
}

// Check implements [document.Backend]. Of the three puts only the first may succeed, and it does if there is no
// object yet.
func (o *object) Check(ctx context.Context) error {
	for i, condition := range []func(*s3.PutObjectInput){ifNone, ifNone, ifMatch(`"00000000000000000000000000000000"`)} {
		_, err := o.put(ctx, "trial", []byte("{}"), condition)
		switch {
		case unchanged(err), err == nil && i == 0:
		case err == nil || status(err) == http.StatusNotImplemented:
			return fmt.Errorf("%w: the server put an object against If-None-Match or If-Match: take one that heeds them: %v", lease.ErrUnsafe, err)
		default:
			return err
		}
	}
	return nil
}

// String says where the object is.
func (o *object) String() string {
	return strings.TrimSpace(fmt.Sprintf("s3://%s/%s %s", o.bucket, o.prefix, aws.ToString(o.client.Options().BaseEndpoint)))
}

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	if response := (*awshttp.ResponseError)(nil); errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// unchanged reports whether the server says that it put nothing: the condition does not hold, another request was in the way, or the
// object is gone.
func unchanged(err error) bool {
	said := smithy.APIError(nil)
	return status(err) == http.StatusPreconditionFailed || status(err) == http.StatusConflict || errors.As(err, &said) && said.ErrorCode() == "NoSuchKey"
}

func (o *object) key(name string) *string { return aws.String(o.prefix + "/" + name) }
