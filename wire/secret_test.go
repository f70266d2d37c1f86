package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const mark = "S3CR3T-mark"

func secretFileIO() FileIO {
	return NewFileIO(map[string]string{"s3.secret-access-key": mark, "s3.region": mark + "-region", "s3.endpoint": "http://u:" + mark + "@h"})
}

// holder keeps secrets in unexported fields, where fmt cannot call their methods.
type holder struct {
	fileIO FileIO
	secret Secret
	table  *Table
	inner  struct{ fileIO *FileIO }
}

// renderings are all the ways that a value gets into a text.
func renderings(t *testing.T, v any) []string {
	t.Helper()
	var out []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p"} {
		out = append(out, fmt.Sprintf(verb, v), fmt.Sprintf(verb, []any{v}), fmt.Sprintf(verb, map[string]any{"k": v}))
	}
	j, err := json.Marshal(v)
	require.NoError(t, err)
	out = append(out, string(j), fmt.Errorf("wrapped: %v", v).Error(), errors.Join(fmt.Errorf("%+v", v)).Error())
	for _, handler := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		slog.New(handler(&b)).Info("m", "v", v, slog.Any("w", v), slog.Group("g", slog.Any("v", v)))
		out = append(out, b.String())
	}
	func() {
		defer func() { out = append(out, fmt.Sprint(recover())) }()
		panic(fmt.Sprintf("%+v", v))
	}()
	return out
}

func TestSecretsNeverPrint(t *testing.T) {
	f := secretFileIO()
	h := holder{fileIO: f, secret: NewSecret(mark), table: &Table{Key: "k", FileIO: f}}
	h.inner.fileIO = &f
	for _, v := range []any{
		f, &f, NewSecret(mark), struct{ S Secret }{NewSecret(mark)}, struct{ F FileIO }{f}, []FileIO{f}, map[string]FileIO{"x": f},
		h, &h, []holder{h}, Table{Key: "k", FileIO: f}, &Table{Key: "k", FileIO: f}, []*Table{{FileIO: f}},
	} {
		for _, text := range renderings(t, v) {
			require.NotContains(t, text, mark, "%T", v)
			require.NotContains(t, text, fmt.Sprintf("%x", mark), "%T", v)
			require.NotContains(t, strings.ToLower(text), strings.ToLower(fmt.Sprintf("%X", mark)), "%T", v)
		}
	}
	require.Equal(t, "{s3.endpoint:<redacted> s3.region:<redacted> s3.secret-access-key:<redacted>}", f.String())
	require.Equal(t, mark, NewSecret(mark).Reveal())
	require.True(t, NewSecret("").Empty())
	require.Equal(t, "", fmt.Sprint(NewSecret("")))
}

// errors of opening storage pass through our hands with the location in them.
func TestOpenErrorsHoldNoSecret(t *testing.T) {
	for _, location := range []string{"nosuch://u:" + mark + "@bucket/x", "s3://u:" + mark + "@%zz/x", ":" + mark} {
		_, err := NewOpener(0).Open(t.Context(), secretFileIO(), location)
		require.Error(t, err)
		require.NotContains(t, err.Error(), mark)
	}
}

func TestFileIOKeepsStorageKeysAlone(t *testing.T) {
	f := NewFileIO(map[string]string{
		"s3.endpoint": "e", "gcs.jsonkey": "j", "adls.sas-token.x": "a", "client.region": "r",
		"token": mark, "credential": mark, "uri": mark, "header.Authorization": mark, "rest.sigv4": mark, "client.secret": mark, "s3": mark, "": mark,
	})
	require.Equal(t, []string{"adls.sas-token.x", "client.region", "gcs.jsonkey", "s3.endpoint"}, f.Names())
	require.Equal(t, f, f.With(map[string]string{"token": mark}))
	require.Equal(t, "q", f.With(map[string]string{"s3.endpoint": "q"}).Reveal()["s3.endpoint"])
	require.Equal(t, "e", f.Reveal()["s3.endpoint"], "With leaves the original")
	require.Equal(t, 0, FileIO{}.Len())
}

func TestFingerprintsTellConfigurationsApart(t *testing.T) {
	seen := map[[32]byte]bool{}
	for _, m := range []map[string]string{
		{}, {"s3.a": "b"}, {"s3.a": "c"}, {"s3.b": "b"}, {"s3.a": "b", "s3.b": "b"}, {"s3.a": "bs3.b", "s3.b": ""}, {"s3.a": "", "s3.b": "b"},
	} {
		sum := NewFileIO(m).Fingerprint()
		require.False(t, seen[sum], "%v", m)
		seen[sum] = true
		require.Equal(t, sum, NewFileIO(m).Fingerprint())
	}
}

// A FileIO prints no secret, in any format, alone or in what holds it.
func TestRule6FileIOPrintsNoSecret(t *testing.T) {
	f := secretFileIO()
	w := &Table{Key: "k", Identifier: []string{"c", "t"}, MetadataLocation: "l", FormatVersion: 2, FileIO: f}
	hidden := struct{ unexported FileIO }{f}
	for _, v := range []any{f, &f, w, *w, []FileIO{f}, map[string]FileIO{"x": f}, hidden, &hidden, w.Proto(), fmt.Errorf("open: %v", f)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T"} {
			require.NotContains(t, fmt.Sprintf(verb, v), mark, "%T by %s", v, verb)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("", "v", v)
		require.NotContains(t, log.String(), mark, "%T", v)
		b, err := json.Marshal(v)
		require.NoError(t, err)
		require.NotContains(t, string(b), mark, "%T", v)
	}
	require.Contains(t, fmt.Sprint(f), "s3.secret-access-key:<redacted>", "names show")
}
