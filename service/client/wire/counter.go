package wire

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/randflake/randflake/counter"
	api "github.com/randflake/randflake/service/api/randflake/v1"
)

// Counter returns the message for a counter.Info.
func Counter(i counter.Info) *api.Counter {
	return &api.Counter{Name: i.Name, Start: i.Start, Stride: i.Stride, End: i.End, Rate: i.Rate, Next: i.Next, Left: i.Left,
		Taken: i.Taken, Returned: i.Returned, Skipped: i.Skipped, Changed: timestamppb.New(i.Changed), Forgotten: i.Forgotten}
}

// Info reads what Counter returned.
func Info(c *api.Counter) counter.Info {
	return counter.Info{Name: c.GetName(), Start: c.GetStart(), Stride: c.GetStride(), End: c.GetEnd(), Rate: c.GetRate(), Next: c.GetNext(), Left: c.GetLeft(),
		Taken: c.GetTaken(), Returned: c.GetReturned(), Skipped: c.GetSkipped(), Changed: c.GetChanged().AsTime(), Forgotten: c.GetForgotten()}
}

// Run returns the message for a run.
func Run(b counter.Run) *api.Run {
	return &api.Run{First: b.First, Stride: b.Stride, Count: b.Count, Version: b.Version, Token: b.Token.String()}
}

// ReadRun reads what Run returned.
func ReadRun(b *api.Run) (counter.Run, error) {
	token, err := Token(b.GetToken())
	return counter.Run{First: b.GetFirst(), Stride: b.GetStride(), Count: b.GetCount(), Version: b.GetVersion(), Token: token}, err
}
