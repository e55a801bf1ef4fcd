//go:build archsimd && goexperiment.simd && gc && !purego

package randflake

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestArchSIMD(t *testing.T) {
	if len(tested()) == len(supported()) {
		t.Skipf("this CPU does not have what simd/archsimd needs for %d bits", vectorBits)
	}
}

// BenchmarkKernels is how much longer plain Go and simd/archsimd take than each kernel, by the fastest of many turns that
// alternate.
func BenchmarkKernels(b *testing.B) {
	if len(tested()) == len(supported()) {
		b.Skipf("this CPU does not have what simd/archsimd needs for %d bits", vectorBits)
	}
	defer func(chosen backend) { active = chosen }(active)
	keys := expandKey(&[16]byte{1})
	for _, width := range backendTable[archSIMDNeeds].widths {
		buf := make([]uint64, width)
		for i, f := range []func(){
			func() { encryptBlocks(keys, buf, buf) },
			func() { decryptBlocks(keys, buf, buf) },
			func() { encryptRun(keys, buf, 0) },
		} {
			b.Run(fmt.Sprint([]string{"encrypt", "decrypt", "run"}[i], width, archSIMDNeeds), func(b *testing.B) {
				fastest := map[backend]float64{archSIMDNeeds: math.Inf(1), backendGeneric: math.Inf(1), backendArchSIMD: math.Inf(1)}
				for range 1000 * b.N {
					for active = range fastest {
						start := time.Now()
						for range 16 {
							f()
						}
						fastest[active] = min(fastest[active], float64(time.Since(start))/float64(16*width))
					}
				}
				kernel := fastest[archSIMDNeeds]
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(kernel, "ns/block")
				b.ReportMetric(fastest[backendGeneric]/kernel, "x-plain-go")
				b.ReportMetric(fastest[backendArchSIMD]/kernel, "x-archsimd")
			})
		}
	}
}
