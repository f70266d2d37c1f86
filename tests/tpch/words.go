package tpch

import "strings"

// The value domains of the specification (TPC-H 4.2.2.13 and 4.2.3).
var (
	regions = []string{"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"}

	// nations are in key order; the number is the region's key.
	nations = []struct {
		name   string
		region int
	}{
		{"ALGERIA", 0}, {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1}, {"EGYPT", 4}, {"ETHIOPIA", 0}, {"FRANCE", 3},
		{"GERMANY", 3}, {"INDIA", 2}, {"INDONESIA", 2}, {"IRAN", 4}, {"IRAQ", 4}, {"JAPAN", 2}, {"JORDAN", 4}, {"KENYA", 0},
		{"MOROCCO", 0}, {"MOZAMBIQUE", 0}, {"PERU", 1}, {"CHINA", 2}, {"ROMANIA", 3}, {"SAUDI ARABIA", 4}, {"VIETNAM", 2},
		{"RUSSIA", 3}, {"UNITED KINGDOM", 3}, {"UNITED STATES", 1},
	}

	colours = strings.Fields(`almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood
		burnished chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick
		floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn
		lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid
		pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky
		slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow`)

	typeSyllables = [3][]string{
		{"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"},
		{"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"},
		{"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"},
	}
	containerSyllables = [2][]string{
		{"SM", "LG", "MED", "JUMBO", "WRAP"},
		{"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"},
	}
	segments     = []string{"AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"}
	priorities   = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	instructions = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	modes        = []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}
)

// The words of comments. Each list has 64 entries, so that six bits of a hash pick one; a word entered more often is that
// much more frequent. "special ... requests" in about one order in a hundred is what query 13 looks for.
var (
	adjectives = weighted("special*4 pending*4 unusual*4 express*4 final*6 ironic*7 regular*6 even*4 bold*3 silent*3 furious sly careful " +
		"blithe quick fluffy slow quiet ruthless thin close dogged daring brave stealthy permanent enticing idle busy")
	nouns = weighted("requests*6 packages*6 accounts*6 deposits*5 foxes*3 ideas*3 theodolites*3 pinto_beans*3 instructions*3 dependencies*3 " +
		"excuses*2 platelets*2 asymptotes*2 courts dolphins multipliers sauternes warthogs frets dinos attainments somas " +
		"patterns forges braids hockey_players frays warhorses dugouts tithes")
	verbs = weighted("sleep*6 wake*4 are*4 cajole*4 haggle*5 nag*4 use*3 boost*3 affix*2 detect*2 integrate*2 maintain*2 nod lose sublate " +
		"solve thrash promise engage hinder print x-ray breach eat grow impress mold poach serve run dazzle snooze doze unwind kindle")
	adverbs = weighted("furiously*5 slyly*5 carefully*5 blithely*5 quickly*5 fluffily*4 slowly*2 quietly*2 ruthlessly*2 thinly*2 closely*2 " +
		"doggedly*2 daringly*2 bravely*2 stealthily*2 permanently*2 enticingly*2 idly*2 busily*2 regularly*2 finally*2 ironically*2 " +
		"evenly*2 boldly")
	prepositions = weighted("about*4 above*3 according_to*4 across*3 after*3 against*2 along*2 alongside_of*2 among*3 around*2 at*2 atop*2 " +
		"before*2 behind*2 beneath*2 beside besides*2 between*2 beyond by*2 despite during except for from*2 in_place_of inside " +
		"instead_of into near of on over outside past since through")
)

// weighted reads "word*3 two_words": a word, how often it is entered, and _ for a space.
func weighted(list string) []string {
	var words []string
	for _, field := range strings.Fields(list) {
		word, times, _ := strings.Cut(field, "*")
		n := 1
		if times != "" {
			n = int(times[0] - '0')
		}
		for range n {
			words = append(words, strings.ReplaceAll(word, "_", " "))
		}
	}
	return words
}
