package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/plan"
)

// equalityKey is a field that equality deletes compare.
type equalityKey struct {
	top  *iceberg.Field // the column it is, or is in
	path []string       // the structs' fields that lead to it
	text bool
}

// equalitySet is all equality delete files of the group that compare the same fields.
type equalitySet struct {
	table   string // the temporary table: k0.., d (the delete file in the group), seq
	ids     []int32
	keys    []equalityKey
	deletes []int32
}

// equalitySets gathers the equality deletes of files by what they compare, and makes the compared columns sources.
func (r *reader) equalitySets(files []*dataFile) error {
	bySignature := make(map[string]*equalitySet)
	seen := make(map[int32]bool)
	for _, f := range files {
		for _, d := range f.equality {
			if seen[d] {
				continue
			}
			seen[d] = true
			file := r.in.Group.GetDeleteFiles()[d]
			ids := slices.Sorted(slices.Values(file.GetEqualityIds()))
			if len(ids) == 0 {
				return fmt.Errorf("equality delete file %s compares no field", file.GetPath())
			}
			signature := fmt.Sprint(ids)
			set := bySignature[signature]
			if set == nil {
				set = &equalitySet{ids: ids, table: r.tempTable(fmt.Sprintf("equality%d", len(r.equality)))}
				for _, id := range ids {
					key, err := r.equalityKey(id)
					if err != nil {
						return fmt.Errorf("equality delete file %s: %w", file.GetPath(), err)
					}
					set.keys = append(set.keys, key)
				}
				bySignature[signature] = set
				r.equality = append(r.equality, set)
			}
			set.deletes = append(set.deletes, d)
		}
	}
	return nil
}

// equalityKey finds a field by id in the table's schema or, if it has been dropped since, in the newest that had it.
func (r *reader) equalityKey(id int32) (equalityKey, error) {
	fields := r.fields
	key, ok := findPath(fields, id)
	for i := len(r.in.Schemas) - 1; i >= 0 && !ok; i-- {
		old, err := iceberg.Fields(r.in.Schemas[i])
		if err != nil {
			return equalityKey{}, err
		}
		key, ok = findPath(old, id)
	}
	if !ok {
		return equalityKey{}, fmt.Errorf("no schema of the table has field %d, which it compares", id)
	}
	if len(key.path) > 0 && !stable(key.top, r.in.Schemas) {
		return equalityKey{}, fmt.Errorf("it compares field %d inside column %s, whose fields were renamed", id, key.top.Name)
	}
	r.columns.add(key.top.ID, hidden(key.top.ID), key.top.Type, key.top)
	return key, nil
}

func findPath(fields []iceberg.Field, id int32) (equalityKey, bool) {
	for i := range fields {
		if path, of, ok := pathTo(&fields[i], id); ok {
			return equalityKey{top: &fields[i], path: path, text: of.Type.Kind == plan.Varchar}, true
		}
	}
	return equalityKey{}, false
}

// pathTo is a field and the way to it through structs; nothing in a list or map can be compared.
func pathTo(f *iceberg.Field, id int32) ([]string, *iceberg.Field, bool) {
	if f.ID == id {
		return nil, f, len(f.Children) == 0
	}
	if f.Type.Kind != plan.Struct {
		return nil, nil, false
	}
	for i := range f.Children {
		if path, of, ok := pathTo(&f.Children[i], id); ok {
			return append([]string{f.Children[i].Name}, path...), of, true
		}
	}
	return nil, nil, false
}

// of is the key as SQL over a column. Texts are compared byte by byte, whatever the session's collation.
func (k equalityKey) of(column string) string {
	for _, name := range k.path {
		column += "." + plan.QuoteIdent(name)
	}
	if k.text {
		column += ` COLLATE "binary"`
	}
	return column
}

// loadEquality makes the temporary tables of the equality deletes.
func (r *reader) loadEquality(ctx context.Context) error {
	for _, set := range r.equality {
		paths := make([]string, len(set.deletes))
		var records int64
		ordinals, sequences := make([]string, len(set.deletes)), make([]string, len(set.deletes))
		for i, d := range set.deletes {
			file := r.in.Group.GetDeleteFiles()[d]
			var err error
			if paths[i], err = r.in.Local(ctx, file.GetPath()); err != nil {
				return fmt.Errorf("equality delete file %s: %w", file.GetPath(), err)
			}
			footer, err := object.ReadLocalFooter(paths[i])
			if err != nil {
				return fmt.Errorf("equality delete file %s: %w", file.GetPath(), err)
			}
			// Without ids every key would read as NULL and delete nothing.
			have, _ := fileColumns(footer, nil)
			for _, key := range set.keys {
				if find(have, key.top.ID) == nil {
					return fmt.Errorf("equality delete file %s: it has no column with the id of %s", file.GetPath(), key.top.Name)
				}
			}
			records += file.GetRecordCount()
			ordinals[i], sequences[i] = fmt.Sprint(d), fmt.Sprint(file.GetSequenceNumber())
		}
		var schema schemaMap
		var keys []string
		asked := make(map[int32]bool)
		for i, key := range set.keys {
			if !asked[key.top.ID] {
				asked[key.top.ID] = true
				schema.add(fmt.Sprint(key.top.ID), hidden(key.top.ID), key.top.Type, "NULL")
			}
			keys = append(keys, fmt.Sprintf("%s AS k%d", key.of(hidden(key.top.ID)), i))
		}
		r.query.Setup = append(r.query.Setup, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE %s AS SELECT DISTINCT %s, %s AS d, %s AS seq FROM %s",
			set.table, strings.Join(keys, ", "), perFile(ordinals), perFile(sequences), readParquet(paths, &shape{schema: schema}, records)))
		r.query.Teardown = append(r.query.Teardown, "DROP TABLE IF EXISTS "+set.table)
	}
	return nil
}

// byEquality divides files so that within each part the equality deletes that apply to a file are told by sequence numbers
// alone, or are the same for all files.
func (r *reader) byEquality(files []*dataFile) [][]*dataFile {
	if r.sameEquality(files) || r.equalityBySequence(files) {
		return [][]*dataFile{files}
	}
	var order []string
	parts := make(map[string][]*dataFile)
	for _, f := range files {
		k := fmt.Sprint(f.equality)
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], f)
	}
	out := make([][]*dataFile, len(order))
	for i, k := range order {
		out[i] = parts[k]
	}
	return out
}

func (r *reader) sameEquality(files []*dataFile) bool {
	for _, f := range files {
		if !slices.Equal(f.equality, files[0].equality) {
			return false
		}
	}
	return true
}

// equalityBySequence says that to each file may be applied exactly those deletes of any of files that are younger than it. One
// of them may be missing from the file's own list where its table-wide bounds rule it out: applied, it deletes nothing.
func (r *reader) equalityBySequence(files []*dataFile) bool {
	all := make(map[int32]bool)
	for _, f := range files {
		for _, d := range f.equality {
			all[d] = true
		}
	}
	for _, f := range files {
		younger := 0
		for d := range all {
			file, listed := r.in.Group.GetDeleteFiles()[d], slices.Contains(f.equality, d)
			if file.GetSequenceNumber() <= f.task.GetSequenceNumber() {
				continue
			}
			if !listed && (r.in.Unpartitioned == nil || !r.in.Unpartitioned(file.GetSpecId())) {
				return false // of another partition, perhaps
			}
			if listed {
				younger++
			}
		}
		if younger != len(f.equality) {
			return false
		}
	}
	return true
}

// equalityJoins are the anti-joins that take the rows out of files (one part of byEquality) that equality deletes name.
// bySequence says that the joins compare p.seq, the file's sequence number.
func (r *reader) equalityJoins(files []*dataFile) (joins []string, bySequence bool) {
	applies := make(map[int32]bool)
	for _, f := range files {
		for _, d := range f.equality {
			applies[d] = true
		}
	}
	bySequence = len(applies) > 0 && !r.sameEquality(files)
	for i, set := range r.equality {
		var used []string
		for _, d := range set.deletes {
			if applies[d] {
				used = append(used, fmt.Sprint(d))
			}
		}
		if len(used) == 0 {
			continue
		}
		from := set.table
		if len(used) < len(set.deletes) {
			from = fmt.Sprintf("(FROM %s WHERE d IN (%s))", set.table, strings.Join(used, ", "))
		}
		e := fmt.Sprintf("e%d", i)
		conds := make([]string, 0, len(set.keys)+1)
		for j, key := range set.keys {
			column := r.columns.sources[r.columns.byID[key.top.ID]].name
			conds = append(conds, fmt.Sprintf("%s.k%d IS NOT DISTINCT FROM %s", e, j, key.of("p."+column)))
		}
		if bySequence {
			conds = append(conds, e+".seq > p.seq")
		}
		joins = append(joins, fmt.Sprintf("ANTI JOIN %s %s ON %s", from, e, strings.Join(conds, " AND ")))
	}
	return joins, bySequence
}
