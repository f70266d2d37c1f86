package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
)

func load(t *testing.T, set map[string]string) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Source{Set: set})
	require.NoError(t, err)
	return cfg
}

// restServer lists one schema, for those who have the token that it gives for the credential id:hunter2.
func restServer(t *testing.T) *httptest.Server {
	answer := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/oauth":
			if r.FormValue("client_id") != "id" || r.FormValue("client_secret") != "hunter2" || r.FormValue("scope") != "some" {
				answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
				return
			}
			answer(w, http.StatusOK, map[string]any{"access_token": "given", "token_type": "bearer", "expires_in": 3600})
		case r.Header.Get("Authorization") != "Bearer given":
			answer(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"message": "who are you", "type": "NotAuthorizedException", "code": 401}})
		case r.URL.Path == "/v1/config":
			answer(w, http.StatusOK, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
		case r.URL.Path == "/v1/namespaces" && r.URL.Query().Get("parent") == "":
			answer(w, http.StatusOK, map[string]any{"namespaces": [][]string{{"sales"}}})
		default:
			answer(w, http.StatusOK, map[string]any{"namespaces": [][]string{}})
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestRESTCatalogLogsIn(t *testing.T) {
	ctx := context.Background()
	server := restServer(t)
	for name, set := range map[string]map[string]string{
		"credential": {"catalog.credential": "id:hunter2", "catalog.scope": "some", "catalog.oauth2_server_uri": server.URL + "/oauth"},
		"token":      {"catalog.token": "given"},
	} {
		set["catalog.type"], set["catalog.uri"] = "rest", server.URL
		c, err := OpenCatalog(ctx, load(t, set), "")
		require.NoError(t, err, name)
		names, err := c.Namespaces(ctx)
		require.NoError(t, err, name)
		require.Equal(t, []string{"sales"}, names, name)
		require.NoError(t, c.Close())
	}
	_, err := OpenCatalog(ctx, load(t, map[string]string{
		"catalog.type": "rest", "catalog.uri": server.URL, "catalog.credential": "id:hunter3",
		"catalog.scope": "some", "catalog.oauth2_server_uri": server.URL + "/oauth",
	}), "")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter3")
}

func TestLocalWarehouse(t *testing.T) {
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	rest := map[string]string{"catalog.type": "rest", "catalog.uri": "https://catalog.example.org"}
	for _, c := range []struct {
		warehouse string
		rest      bool
		want      string
	}{
		{"", false, filepath.Join(here, "data", "warehouse")},
		{"w", false, filepath.Join(here, "w")},
		{"file:///srv/w", false, "/srv/w"},
		{"s3://bucket/w", false, ""},
		{"sales", true, ""},
		{"/srv/w", true, "/srv/w"},
	} {
		set := map[string]string{"catalog.warehouse": c.warehouse}
		if c.rest {
			for k, v := range rest {
				set[k] = v
			}
		}
		dir, ok := localWarehouse(load(t, set), Options{DataDir: "data"})
		require.Equal(t, c.want, dir, c)
		require.Equal(t, c.want != "", ok, c)
	}
}
