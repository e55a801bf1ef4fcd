package local_test

import (
	"fmt"
	"log"

	"github.com/randflake/randflake/lease/local"
)

func ExampleKeep() {
	keeper, err := local.Keep("shop")
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()

	id, err := keeper.Generator().Generate()
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(id, int64(id), keeper.Generator().Cipher().Inspect(id).Time)
}
