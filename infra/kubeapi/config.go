package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// entry is what the current context of a kubeconfig names.
type entry struct {
	server      string
	authority   []byte // PEM
	credentials *credentials
}

// readConfig reads the parts of a kubeconfig that the program writes, and a fixed token.
func readConfig(text string) (e entry, err error) {
	var config struct {
		Current  string `json:"current-context"`
		Contexts []struct {
			Name    string
			Context struct{ Cluster, User string }
		}
		Clusters []struct {
			Name    string
			Cluster struct {
				Server    string
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			Name string
			User struct {
				Token string
				Exec  *command
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return e, errors.New("it is not the JSON that the program writes") // the cause may repeat a token
	}
	cluster, user := "", ""
	for _, c := range config.Contexts {
		if c.Name == config.Current {
			cluster, user = c.Context.Cluster, c.Context.User
		}
	}
	for _, c := range config.Clusters {
		if c.Name == cluster {
			e.server, e.authority = c.Cluster.Server, c.Cluster.Authority
		}
	}
	for _, u := range config.Users {
		if u.Name == user {
			e.credentials = &credentials{fixed: u.User.Token, exec: u.User.Exec}
		}
	}
	address, err := url.Parse(e.server)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http":
		return e, fmt.Errorf("current context %q names no server with an http or https address (found %q)",
			config.Current, e.server)
	case e.credentials == nil || e.credentials.fixed == "" && e.credentials.exec == nil:
		return e, fmt.Errorf("current context %q names no user with a token or a token command", config.Current)
	}
	return e, nil
}
