// Yardstick answers as randflaked would if there were nothing to it: with a counter, by plain net/http and by connect.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync/atomic"

	"connectrpc.com/connect"

	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
)

type counter struct {
	randflakev1connect.UnimplementedIDServiceHandler
	n atomic.Int64
}

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"numbers":["%d"]}`, c.n.Add(1))
}

func (c *counter) Mint(context.Context, *connect.Request[api.MintRequest]) (*connect.Response[api.MintResponse], error) {
	return connect.NewResponse(&api.MintResponse{Numbers: []int64{c.n.Add(1)}}), nil
}

func main() {
	c := new(counter)
	mux := http.NewServeMux()
	mux.Handle("/next", c)
	mux.Handle(randflakev1connect.NewIDServiceHandler(c))
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
