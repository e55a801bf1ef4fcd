package page

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Pager says which part of a list a page shows.
type Pager struct {
	From, To, Total int
	Prev, Next      string // links, or ""
}

// perPage is how many rows of a list a page has at most.
const perPage = 50

// Page returns the part of a list that is asked for by the value of a key, such as ?refusals=2.
func Page(total int, key string, asked url.Values) Pager {
	last := max(1, (total+perPage-1)/perPage)
	page, _ := strconv.Atoi(asked.Get(key))
	page = min(max(page, 1), last)
	p := Pager{From: (page - 1) * perPage, To: min(page*perPage, total), Total: total}
	link := func(to int) string { return fmt.Sprintf("?%s=%d#%s", key, to, key) }
	if page > 1 {
		p.Prev = link(page - 1)
	}
	if page < last {
		p.Next = link(page + 1)
	}
	return p
}

// First returns the number of the first row, for people.
func (p Pager) First() int { return min(p.From+1, p.Total) }

// Number returns an integer with commas, and in powers of ten where nobody counts any more.
func Number(value any) string {
	digits := fmt.Sprint(value)
	if f, err := strconv.ParseFloat(digits, 64); err == nil && math.Abs(f) >= 1e15 {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', 2, 64), "e+")
		return strings.Replace(mantissa, "-", "−", 1) + " × 10" + superscript.Replace(exponent)
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "−", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

var superscript = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }
func iso(t time.Time) string   { return t.UTC().Format(time.RFC3339) }

// relative says how far t is from now, in its two largest units.
func relative(now, t time.Time) string {
	if t.Before(now) {
		return span(now.Sub(t)) + " ago"
	}
	return "in " + span(t.Sub(now))
}

func span(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s%86400/3600)
}

// width returns a part as a percentage that can still be seen.
func width(part float64) string {
	if part <= 0 {
		return "0"
	}
	return fmt.Sprintf("%.2f", min(max(part*100, 0.8), 100))
}

// shade returns one of five, from 0 for nothing to 4 for all.
func shade(part float64) int { return int(math.Ceil(min(max(part, 0), 1) * 4)) }
