// Command first makes five IDs: the first program of the README.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/randflake/randflake/lease/local"
)

func main() {
	keeper, err := local.Keep(context.Background(), "shop") // a secret and a space in your state directory, made at first use
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()

	generator := keeper.Generator()
	for range 5 {
		id, err := generator.Generate()
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(id, int64(id), generator.Cipher().Inspect(id).Time)
	}
}
