package corpora

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
)

// SplitStatements cuts a text at the semicolons outside quotes and comments.
func SplitStatements(text string) []string {
	var out []string
	var b strings.Builder
	flush := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			out = append(out, s)
		}
		b.Reset()
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				end = len(text) - i - 2
			}
			b.WriteString(text[i : i+end+2])
			i += end + 1
		case c == '-' && strings.HasPrefix(text[i:], "--"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
			b.WriteByte('\n')
		case c == ';':
			flush()
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return out
}

// fill makes the tables of a schema and fills them with made-up rows: column values follow from the row number
// and the column's name, over small domains so that joins and filters find something.
func fill(schema string, rows func(table string) int, value func(table, column string, of plan.Type) string) func(func(context.Context, string) error) error {
	return func(exec func(context.Context, string) error) error {
		ctx := context.Background()
		for _, s := range SplitStatements(schema) {
			if !strings.HasPrefix(strings.ToLower(s), "create table") {
				continue
			}
			if err := exec(ctx, s); err != nil {
				return err
			}
			table, columns, err := tableColumns(s)
			if err != nil {
				return err
			}
			exprs := make([]string, len(columns))
			for i, c := range columns {
				exprs[i] = value(table, c.Name, c.Type)
			}
			insert := fmt.Sprintf("INSERT INTO %s SELECT %s FROM range(%d) x(i)", table, strings.Join(exprs, ", "), rows(table))
			if err := exec(ctx, insert); err != nil {
				return fmt.Errorf("%s: %w", insert, err)
			}
		}
		return nil
	}
}

// tableColumns reads a plain CREATE TABLE.
func tableColumns(create string) (table string, columns []plan.Column, err error) {
	open, end := strings.IndexByte(create, '('), strings.LastIndexByte(create, ')')
	table = strings.TrimSpace(create[len("create table"):open])
	for _, line := range strings.Split(create[open+1:end], ",\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.EqualFold(fields[0], "primary") {
			continue
		}
		of, err := plan.ParseType(fields[1])
		if err != nil {
			return "", nil, err
		}
		columns = append(columns, plan.Column{Name: strings.Trim(fields[0], `"`), Type: of})
	}
	return table, columns, nil
}

// pseudo is an expression for a number in [0, n) that looks random and follows from the row and a name.
func pseudo(name string, n int) string {
	return fmt.Sprintf("(hash(i, '%s') %% %d)::BIGINT", name, n)
}

// oneOf picks one of the words.
func oneOf(name string, words ...string) string {
	for i, w := range words {
		words[i] = plan.QuoteString(w)
	}
	return fmt.Sprintf("[%s][1 + %s]", strings.Join(words, ", "), pseudo(name, len(words)))
}

// literalUse finds a column compared with string literals.
var literalUse = regexp.MustCompile(`(?i)(\w+)\s*(?:=|in)\s*\(?((?:\s*'[^']*'\s*,?)+)`)

// numberUse finds a column compared with whole numbers.
var numberUse = regexp.MustCompile(`(?i)(\w+)\s*(?:=|in|between)\s*\(?((?:\s*\d+\b\s*(?:,|and)?)+)`)

var wholeNumber = regexp.MustCompile(`\d+`)

// literalsByColumn are the strings and the whole numbers that queries compare columns with.
func literalsByColumn(queries []Query) map[string][]string {
	out := map[string][]string{}
	for _, q := range queries {
		for _, m := range numberUse.FindAllStringSubmatch(q.SQL, -1) {
			column := strings.ToLower(m[1])
			for _, n := range wholeNumber.FindAllString(m[2], -1) {
				if !slices.Contains(out[column], n) {
					out[column] = append(out[column], n)
				}
			}
		}
		for _, m := range literalUse.FindAllStringSubmatch(q.SQL, -1) {
			column := strings.ToLower(m[1])
			for i, part := range strings.Split(m[2], "'") {
				if i%2 == 1 && !slices.Contains(out[column], part) {
					out[column] = append(out[column], part)
				}
			}
		}
	}
	return out
}

// The calendar of the made-up TPC-DS data: TPC-DS numbers days as Julian days.
const (
	firstDay = 2450815 // 1998-01-01
	days     = 6 * 366
)

func tpcdsRows(table string) int {
	switch table {
	case "date_dim":
		return days
	case "time_dim":
		return 1440
	case "store_sales", "catalog_sales", "web_sales":
		return 6000
	case "store_returns", "catalog_returns", "web_returns":
		return 3000
	case "inventory":
		return 5000
	case "customer", "customer_address", "customer_demographics":
		return 400
	case "store", "warehouse", "promotion", "income_band", "web_site", "web_page", "call_center", "ship_mode", "reason":
		return 12
	default:
		return 100
	}
}

func tpcdsValue(literals map[string][]string) func(table, column string, of plan.Type) string {
	value := tpcdsPlain(literals)
	return func(table, column string, of plan.Type) string {
		plain := value(table, column, of)
		if when, often, ok := strings.Cut(tpcdsOften[strings.ToLower(column)], ":"); ok {
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", when, often, plain)
		}
		return plain
	}
}

// tpcdsPlain gives values without regard to what a query wants of several columns.
func tpcdsPlain(literals map[string][]string) func(table, column string, of plan.Type) string {
	calendar := map[string]string{
		"d_date_sk": fmt.Sprint(firstDay) + " + i", "d_date": "DATE '1998-01-01' + i::INTEGER",
		"d_year": "year(DATE '1998-01-01' + i::INTEGER)", "d_moy": "month(DATE '1998-01-01' + i::INTEGER)",
		"d_dom": "day(DATE '1998-01-01' + i::INTEGER)", "d_qoy": "quarter(DATE '1998-01-01' + i::INTEGER)",
		"d_dow": "dayofweek(DATE '1998-01-01' + i::INTEGER)", "d_day_name": "dayname(DATE '1998-01-01' + i::INTEGER)",
		"d_week_seq": "5100 + (i + 4) // 7", "d_month_seq": "(year(DATE '1998-01-01' + i::INTEGER) - 1900) * 12 + month(DATE '1998-01-01' + i::INTEGER) - 1",
		"d_quarter_name": "year(DATE '1998-01-01' + i::INTEGER) || 'Q' || quarter(DATE '1998-01-01' + i::INTEGER)",
		"t_hour":         "i // 60", "t_minute": "i % 60", "t_time_sk": "i", "t_time": "i * 60",
	}
	return func(table, column string, of plan.Type) string {
		column = strings.ToLower(column)
		if e, ok := calendar[column]; ok {
			return e
		}
		returns := map[string]string{"store_returns": "store_sales", "catalog_returns": "catalog_sales", "web_returns": "web_sales"}
		if e, ok := tpcdsSpecial[column]; ok {
			return e
		}
		if strings.HasSuffix(column, "gmt_offset") {
			return "[-5, -6, -7, -8][1 + i % 4]"
		}
		if e, ok := tpcdsBasket(table, column); ok {
			return e
		}
		name := column
		if returns[table] != "" {
			// A return repeats the keys of the sale with its number: sr_item_sk is that of ss_item_sk.
			name = map[string]string{"s": "ss", "c": "cs", "w": "ws"}[column[:1]] + column[2:]
			name = strings.ReplaceAll(name, "refunded_", "bill_")
		}
		switch {
		case strings.HasSuffix(column, "date_sk"):
			return fmt.Sprintf("CASE WHEN i %% 97 = 5 THEN NULL ELSE %d + %s // 11 * 11 END", firstDay, pseudo(name, days))
		case strings.HasSuffix(column, "time_sk"):
			return pseudo(name, 1440) + " // 30 * 30"
		case strings.HasSuffix(column, "ticket_number") || strings.HasSuffix(column, "order_number"):
			return basket
		case strings.HasSuffix(column, "_sk") && tpcdsRows(table) < 1000 && isKeyOf(table, column):
			return "i"
		case strings.HasSuffix(column, "_sk"):
			return fmt.Sprintf("CASE WHEN i %% 89 = 7 THEN NULL ELSE %s END", pseudo(name, keyRange(column)))
		case len(literals[column]) > 0 && of.Kind == plan.Varchar:
			if tpcdsRows(table) <= 100 {
				return fmt.Sprintf("[%s][1 + (i * 7 // 3) %% %d]", quoted(literals[column]), len(literals[column])) // each of them
			}
			return oneOf(column, slices.Clone(literals[column])...)
		case len(literals[column]) > 0 && of.Kind == plan.Integer:
			return "[" + strings.Join(literals[column], ", ") + "][1 + " + pseudo(column, len(literals[column])) + "]"
		}
		switch of.Kind {
		case plan.Varchar:
			if strings.HasSuffix(column, "_id") {
				return "'ID' || lpad((i // 2)::VARCHAR, 8, '0')"
			}
			if strings.HasSuffix(column, "zip") {
				return "lpad(" + pseudo(column, 99999) + "::VARCHAR, 5, '0')"
			}
			return oneOf(column, "able", "ation", "bar", "ese", "anti", "ought")
		case plan.Date:
			return "DATE '1998-01-01' + " + pseudo(column, days) + "::INTEGER"
		case plan.Decimal:
			return "CASE WHEN i % 83 = 3 THEN NULL ELSE " + pseudo(name, 20000) + " / 100.0 END"
		default:
			return pseudo(column, 80)
		}
	}
}

// tpcdsSpecial are values whose distribution queries depend on.
var tpcdsSpecial = map[string]string{
	"i_current_price": "[1.10, 30, 1.30, 65, 70, 25, 1.45, 80, 45, 100][1 + i % 10]",
	"ib_lower_bound":  "i * 10000", "ib_upper_bound": "(i + 1) * 10000",
	"ca_city":            oneOf("ca_city", "Hopewell", "Oakland", "Riverside", "Salem"),
	"c_current_hdemo_sk": pseudo("c_hdemo", 100), "c_current_cdemo_sk": pseudo("c_cdemo", 400), "hd_income_band_sk": "i % 12",
	"inv_quantity_on_hand": "CASE WHEN hash(i, 'q') % 3 = 0 THEN hash(i, 'r') % 20 ELSE 100 + hash(i, 'r') % 400 END",
	"inv_item_sk":          pseudo("inv_item", 25), "inv_warehouse_sk": pseudo("inv_warehouse", 4),
	"inv_date_sk": fmt.Sprintf("%d + %s * 11", firstDay, pseudo("inv_date", days/11)),
}

// tpcdsOften are values that many rows have: queries want several of them at once.
var tpcdsOften = map[string]string{
	"i_category": "i % 10 = 3: 'Jewelry'", "i_class": "i % 10 = 3: 'consignment'", "ca_state": "i % 3 = 0: 'IL'", "s_state": "i % 3 = 0: 'IL'",
	"ca_county": "i % 3 = 0: 'Williamson County'", "s_county": "i % 3 = 0: 'Williamson County'", "ca_zip": "i % 4 = 0: '15492'", "s_zip": "i % 2 = 0: '15492'",
	"hd_buy_potential": "i % 3 = 0: '0-500'", "cd_marital_status": "i % 3 = 0: 'M'", "cd_education_status": "i % 3 = 0: 'Unknown'",
	"wr_return_amt": "i % 2 = 0: 12000.50", "cr_return_amount": "i % 2 = 0: 12000.50", "sr_return_amt": "i % 2 = 0: 12000.50",
	"c_preferred_cust_flag": "i % 3 > 0: 'Y'",
}

// basket is the number of the purchase that a row of a fact table belongs to: of sixteen rows, or of four.
const basket = "(CASE WHEN i < 2000 THEN i // 16 ELSE 1000 + i // 4 END)"

// tpcdsBasket ties the channels together, row by row: a return repeats the keys of the sale with its number; a customer buys an
// item again through the other channels; the customer, the day and the household are those of the basket.
func tpcdsBasket(table, column string) (string, bool) {
	if !strings.HasSuffix(table, "_sales") && !strings.HasSuffix(table, "_returns") {
		return "", false
	}
	of := func(name string, n int) string { return fmt.Sprintf("(hash(%s, '%s') %% %d)::BIGINT", basket, name, n) }
	nullable := func(e string, every int) (string, bool) {
		return fmt.Sprintf("CASE WHEN i %% %d = 7 THEN NULL ELSE %s END", every, e), true
	}
	_, rest, _ := strings.Cut(column, "_")
	day := fmt.Sprintf("%d + %s", firstDay, of("day", days-200))
	switch {
	case rest == "sold_date_sk" && table == "store_sales":
		return nullable(day, 97)
	case rest == "sold_date_sk":
		return nullable(day+" + "+pseudo(column, 60), 97)
	case strings.HasSuffix(rest, "date_sk"):
		return nullable(day+" + "+pseudo(column, 90), 97)
	case strings.HasSuffix(rest, "customer_sk"):
		return nullable(of("customer", 400), 89)
	case rest == "item_sk":
		return pseudo("item", 100), true
	case strings.HasSuffix(rest, "hdemo_sk"):
		return nullable(of("hdemo", 100), 89)
	case strings.HasSuffix(rest, "cdemo_sk"):
		return nullable(of("cdemo", 400), 89)
	case strings.HasSuffix(rest, "addr_sk"):
		return nullable(of("addr", 400), 89)
	case rest == "store_sk":
		return nullable(fmt.Sprintf("CASE WHEN %s %% 12 = 5 THEN 50 ELSE %s END", basket, of("store", 12)), 79)
	}
	return "", false
}

// quoted is words as SQL literals.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = plan.QuoteString(w)
	}
	return strings.Join(out, ", ")
}

// isKeyOf says that a column is its table's key: i_item_sk of item.
func isKeyOf(table, column string) bool {
	_, rest, _ := strings.Cut(column, "_")
	rest = strings.TrimSuffix(rest, "_sk")
	return rest == table || strings.HasPrefix(table, "household") && rest == "demo" || strings.HasPrefix(table, "customer_demo") && rest == "demo" ||
		table == "customer_address" && rest == "address" || table == "web_site" && rest == "site" || table == "promotion" && rest == "promo"
}

// keyRange is how many keys the dimension has that a foreign key points into.
func keyRange(column string) int {
	switch {
	case strings.Contains(column, "hdemo"):
		return 100
	case strings.Contains(column, "customer") || strings.Contains(column, "demo") || strings.Contains(column, "addr"):
		return 400
	case strings.Contains(column, "item"):
		return 100
	default:
		return 12
	}
}

func clickBenchValue(_, column string, of plan.Type) string {
	switch {
	case column == "EventDate":
		return "DATE '2013-07-01' + " + pseudo(column, 31) + "::INTEGER"
	case column == "EventTime" || column == "ClientEventTime" || column == "LocalEventTime":
		return "1372636800 + " + pseudo(column, 31*86400)
	case column == "CounterID":
		return "[62, 62, 62, 1, 2, 3][1 + " + pseudo(column, 6) + "]"
	case column == "UserID":
		return "[435090932899640449, 1, 2, 3, 4, 5, 6][1 + " + pseudo(column, 7) + "]"
	case column == "URLHash" || column == "RefererHash":
		return "[2868770270353813622, 3594120000172545465, 7, 8][1 + " + pseudo(column, 4) + "]"
	case of.Kind == plan.Varchar:
		return oneOf(column, "", "", "http://google.com/a", "https://www.google.ru/search", "http://example.org/x?y=1", "Google Chrome", "abc")
	case of.Kind == plan.Date:
		return "DATE '2013-07-10'"
	default:
		return pseudo(column, 5)
	}
}
