package tpch

import (
	"fmt"
	"math"
	"strings"
)

const (
	suppliersPerPart = 4
	maxLines         = 7    // of an order
	orderDays        = 2406 // from 1992-01-01 to 1998-08-02
	today            = "DATE '1995-06-17'"
)

// generator makes the SELECTs of one scale factor.
type generator struct{ sf float64 }

func (g generator) scaled(n float64) int64 { return max(1, int64(math.Round(n*g.sf))) }
func (g generator) suppliers() int64       { return max(suppliersPerPart, g.scaled(10_000)) }
func (g generator) parts() int64           { return g.scaled(200_000) }
func (g generator) customers() int64       { return max(3, g.scaled(150_000)) }
func (g generator) orderCount() int64      { return g.scaled(1_500_000) }
func (g generator) clerks() int64          { return g.scaled(1_000) }
func keyRange(from, to int64, as string) string {
	return fmt.Sprintf("range(%d, %d) AS k(%s)", from, to, as)
}

// selection is SELECT columns FROM source, the columns cast to the table's types in order.
func selection(table string, from string, exprs ...string) string {
	t := TableByName(table)
	list := make([]string, len(exprs))
	for i, e := range exprs {
		c := t.Columns[i]
		list[i] = fmt.Sprintf("%s AS %s", e, c.Name)
		if c.Type == "INTEGER" {
			list[i] = fmt.Sprintf("CAST(%s AS INTEGER) AS %s", e, c.Name)
		}
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + from
}

func (g generator) region(from, to int64) string {
	return selection("region", keyRange(from-1, to-1, "i"), "i", pick(regions, "i"), comment("i", 31, 100, seedRegionComment, seedRegionComment2))
}

func (g generator) nation(from, to int64) string {
	names, regionKeys := make([]string, len(nations)), make([]string, len(nations))
	for i, n := range nations {
		names[i], regionKeys[i] = n.name, fmt.Sprint(n.region)
	}
	return selection("nation", keyRange(from-1, to-1, "i"), "i", pick(names, "i"), "["+strings.Join(regionKeys, ", ")+"][1 + i]",
		comment("i", 31, 100, seedNationComment, seedNationComment2))
}

// supplier: 10 in 10,000 comments speak of "Customer ... Complaints" or "Customer ... Recommends", half each.
func (g generator) supplier(from, to int64) string {
	inner := fmt.Sprintf("(SELECT i, %s AS nation, %s AS press, %s AS text FROM %s)",
		draw("i", seedSupplierNation, int64(len(nations))), draw("i", seedSupplierPress, 10_000),
		comment("i", 25, 100, seedSupplierComment, seedSupplierComment2), keyRange(from, to, "i"))
	text := "CASE WHEN press < 5 THEN substring(text, 1, 60) || ' Customer ' || substring(text, 1, CAST(press AS INTEGER)) || 'Complaints' " +
		"WHEN press < 10 THEN substring(text, 1, 60) || ' Customer ' || substring(text, 1, CAST(press AS INTEGER)) || 'Recommends' ELSE text END"
	return selection("supplier", inner, "i", "'Supplier#' || "+padded("i", 9), address("i", seedSupplierAddress), "nation",
		phone("nation", "i", seedSupplierPhone), money(between("i", seedSupplierBalance, -99_999, 999_999)), text)
}

// part: a name is five different colours. The first is any of the 92; the others come each from a quarter of the rest.
func (g generator) part(from, to int64) string {
	inner := fmt.Sprintf("(SELECT i, %s AS c, %s AS cs, %s AS m, %s AS t, %s AS b FROM %s)",
		draw("i", seedPartColour, int64(len(colours))), bits("i", seedPartColours), draw("i", seedPartMaker, 25),
		draw("i", seedPartType, 150), draw("i", seedPartContainer, 40), keyRange(from, to, "i"))
	words := []string{pick(colours, "c")}
	quarter := (len(colours) - 1) / 4 // 22; the first quarters have one more
	for i := range 4 {
		low := i*quarter + min(i, 3)
		size := quarter
		if i < 3 {
			size++
		}
		words = append(words, pick(colours, fmt.Sprintf("(c + %d + %s %% %d) %% %d", 1+low, field("cs", 16*i, 16), size, len(colours))))
	}
	types := []string{pick(typeSyllables[0], "t // 25"), pick(typeSyllables[1], "t // 5 % 5"), pick(typeSyllables[2], "t % 5")}
	container := spaced([]string{pick(containerSyllables[0], "b // 8"), pick(containerSyllables[1], "b % 8")})
	return selection("part", inner, "i", spaced(words), "'Manufacturer#' || CAST(1 + m // 5 AS VARCHAR)",
		"'Brand#' || CAST(1 + m // 5 AS VARCHAR) || CAST(1 + m % 5 AS VARCHAR)", spaced(types),
		between("i", seedPartSize, 1, 50), container, money(retailCents("i")), comment("i", 5, 22, seedPartComment))
}

// retailCents is the specification's formula for p_retailprice.
func retailCents(part string) string {
	return fmt.Sprintf("(90000 + (%s // 10) %% 20001 + 100 * (%s %% 1000))", part, part)
}

// supplierOf is the specification's formula for the nth of the four suppliers of a part, n from 0.
func (g generator) supplierOf(part, n string) string {
	s := g.suppliers()
	return fmt.Sprintf("((%s + %s * (%d + (%s - 1) // %d)) %% %d + 1)", part, n, s/suppliersPerPart, part, s, s)
}

func (g generator) partsupp(from, to int64) string {
	inner := fmt.Sprintf("(SELECT p, n, p * %d + n AS i FROM (SELECT p, unnest(range(%d)) AS n FROM %s))",
		suppliersPerPart, suppliersPerPart, keyRange(from, to, "p"))
	return selection("partsupp", inner, "p", g.supplierOf("p", "n"), between("i", seedAvailable, 1, 9999),
		money(between("i", seedSupplyCost, 100, 100_000)), comment("i", 49, 140, seedPartSuppComment, seedPartSuppComment2, seedPartSuppComment3))
}

func (g generator) customer(from, to int64) string {
	inner := fmt.Sprintf("(SELECT i, %s AS nation FROM %s)", draw("i", seedCustomerNation, int64(len(nations))), keyRange(from, to, "i"))
	return selection("customer", inner, "i", "'Customer#' || "+padded("i", 9), address("i", seedCustomerAddress), "nation",
		phone("nation", "i", seedCustomerPhone), money(between("i", seedCustomerBalance, -99_999, 999_999)),
		pick(segments, draw("i", seedCustomerSegment, int64(len(segments)))), comment("i", 29, 100, seedCustomerComment, seedCustomerComment2))
}

// orderKey is sparse: of every 32 keys the first 8 are used.
func orderKey(i string) string { return fmt.Sprintf("((%s // 8) * 32 + %s %% 8)", i, i) }

// orderDay is the order's date, in days after the first.
func orderDay(i string) string { return draw(i, seedOrderDate, orderDays) }

// lineCount is how many lines an order has.
func lineCount(i string) string { return between(i, seedOrderLines, 1, maxLines) }

// line is the draws of the nth line of order i that its order must know too.
type line struct{ part, quantity, discount, tax, ship string }

func (g generator) line(key string) line {
	return line{
		part:     between(key, seedLinePart, 1, g.parts()),
		quantity: between(key, seedLineQuantity, 1, 50),
		discount: draw(key, seedLineDiscount, 11),
		tax:      draw(key, seedLineTax, 9),
		ship:     between(key, seedLineShip, 1, 121), // days after the order
	}
}

// lineKey numbers all lines of all orders.
func lineKey(i, n string) string { return fmt.Sprintf("(%s * 8 + %s)", i, n) }

// orders: the total and the status follow from the lines, which are computed here once more. Customers whose key is
// divisible by three have no orders.
func (g generator) orders(from, to int64) string {
	customers := g.customers()
	withOrders := customers - customers/3
	inner := fmt.Sprintf("(SELECT i, %s AS d, %s AS lines, %s AS c FROM %s)",
		orderDay("i"), lineCount("i"), draw("i", seedOrderCustomer, withOrders), keyRange(from, to, "i"))
	total, first, last := make([]string, maxLines), make([]string, maxLines), make([]string, maxLines)
	drawn := []string{"i", "d", "lines", "c"}
	for n := range maxLines {
		l := g.line(lineKey("i", fmt.Sprint(n+1)))
		part, ship := fmt.Sprintf("p%d", n), fmt.Sprintf("s%d", n)
		drawn = append(drawn, l.part+" AS "+part, l.ship+" AS "+ship,
			fmt.Sprintf("%s * (100 - %s) * (100 + %s) AS f%d", l.quantity, l.discount, l.tax, n))
		total[n] = fmt.Sprintf("CASE WHEN lines > %d THEN %s * f%d ELSE 0 END", n, retailCents(part), n)
		first[n] = fmt.Sprintf("CASE WHEN lines > %d THEN %s END", n, ship)
		last[n] = first[n]
	}
	middle := fmt.Sprintf("(SELECT %s FROM %s)", strings.Join(drawn, ", "), inner)
	outer := fmt.Sprintf("(SELECT i, d, c, %s AS total, %s AS first, %s AS last FROM %s)", strings.Join(total, " + "),
		day("d + least("+strings.Join(first, ", ")+")"), day("d + greatest("+strings.Join(last, ", ")+")"), middle)
	return selection("orders", outer, orderKey("i"), "c + c // 2 + 1",
		fmt.Sprintf("CASE WHEN last <= %s THEN 'F' WHEN first > %s THEN 'O' ELSE 'P' END", today, today),
		// The total is in cents times 10,000: rounded half up to whole cents.
		money("(total + 5000) // 10000"), day("d"), pick(priorities, draw("i", seedOrderPriority, int64(len(priorities)))),
		"'Clerk#' || "+padded(between("i", seedOrderClerk, 1, g.clerks()), 9), "0", comment("i", 19, 78, seedOrderComment, seedOrderComment2))
}

func (g generator) lineitem(from, to int64) string {
	lines := fmt.Sprintf("(SELECT i, %s AS d, unnest(range(1, 1 + %s)) AS n FROM %s)", orderDay("i"), lineCount("i"), keyRange(from, to, "i"))
	keyed := fmt.Sprintf("(SELECT i, d, n, %s AS k FROM %s)", lineKey("i", "n"), lines)
	l := g.line("k")
	drawn := fmt.Sprintf("(SELECT i, d, n, k, %s AS part, %s AS quantity, %s AS discount, %s AS tax, %s AS ship FROM %s)",
		l.part, l.quantity, l.discount, l.tax, "d + "+l.ship, keyed)
	dated := fmt.Sprintf("(SELECT i, d, n, k, part, quantity, discount, tax, %s AS shipped, %s AS received FROM %s)",
		day("ship"), day("ship + "+between("k", seedLineReceipt, 1, 30)), drawn)
	return selection("lineitem", dated, orderKey("i"), "part", g.supplierOf("part", draw("k", seedLineSupplier, suppliersPerPart)), "n",
		"CAST(quantity AS DECIMAL(15,2))", money("quantity * "+retailCents("part")), money("discount"), money("tax"),
		fmt.Sprintf("CASE WHEN received > %s THEN 'N' WHEN %s = 0 THEN 'R' ELSE 'A' END", today, draw("k", seedLineReturn, 2)),
		fmt.Sprintf("CASE WHEN shipped > %s THEN 'O' ELSE 'F' END", today), "shipped",
		day("d + "+between("k", seedLineCommit, 30, 90)), "received",
		pick(instructions, draw("k", seedLineInstruction, int64(len(instructions)))),
		pick(modes, draw("k", seedLineMode, int64(len(modes)))), comment("k", 10, 43, seedLineComment))
}
