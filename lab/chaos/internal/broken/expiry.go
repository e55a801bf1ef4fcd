package broken

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// expire shows no record whose lease has ended or was released.
func expire(ctx context.Context, c storetest.Call, engine store.Engine) (store.Answer, error) {
	if c.Swap {
		names := make([]string, len(c.Expect))
		for i, e := range c.Expect {
			names[i] = e.Name
		}
		found, err := engine.Read(ctx, names, store.Page{})
		if err != nil {
			return found, err
		}
		for i, e := range found.Named {
			if c.Expect[i].Value == nil && expired(e) {
				c.Expect[i].Value = e.Value
			}
		}
	}
	answer, err := c.On(ctx, engine)
	for i, e := range answer.Named {
		if expired(e) {
			answer.Named[i].Value = nil
		}
	}
	var page []store.Entry
	for _, e := range answer.Page {
		if !expired(e) {
			page = append(page, e)
		}
	}
	answer.Page = page
	return answer, err
}

// expired reports whether an entry is the record of a lease that is over.
func expired(e store.Entry) bool {
	words := strings.Split(string(e.Value), " ")
	if !strings.Contains(e.Name, "/n/") || len(words) != 10 {
		return false
	}
	owner, highWater := strings.Trim(words[3], "0"), words[8]
	second, err := strconv.ParseInt(highWater, 10, 64)
	return err == nil && (owner == "" || second < time.Now().Unix())
}
