// Renders a chart as `helm template` does, as far as deploy/helm/reprise needs it.
//
//	chart DIRECTORY RELEASE NAMESPACE [VALUES...]
//
// Prints the manifests to standard output, and NOTES.txt to standard error. It is stricter than Helm: a value that
// values.yaml does not have is an error.
//
// Built without modules, with the libraries of Debian's package golang-github-masterminds-sprig-dev.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type object = map[string]interface{}

func main() {
	if len(os.Args) < 4 {
		fail(errors.New("usage: chart DIRECTORY RELEASE NAMESPACE [VALUES...]"))
	}
	directory, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	values, err := read(filepath.Join(directory, "values.yaml"))
	fail(err)
	for _, path := range os.Args[4:] {
		given, err := read(path)
		fail(err)
		values = merge(values, given)
	}
	chart, err := read(filepath.Join(directory, "Chart.yaml"))
	fail(err)
	// In templates the fields of the chart begin with a capital letter.
	for key, value := range chart {
		chart[strings.ToUpper(key[:1])+key[1:]] = value
	}
	top := object{
		"Chart":   chart,
		"Release": object{"Name": release, "Namespace": namespace, "Service": "Helm"},
		"Values":  values,
	}
	paths, err := filepath.Glob(filepath.Join(directory, "templates", "*"))
	fail(err)
	templates, err := parse(paths)
	fail(err)
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		fail(templates.ExecuteTemplate(&out, name, top))
		text := strings.TrimSpace(out.String())
		switch {
		case name == "NOTES.txt":
			fmt.Fprintln(os.Stderr, text)
		case text != "":
			fmt.Printf("---\n# Source: %s\n%s\n", name, text)
		}
	}
}

// parse reads all templates into one set, with the functions of Helm that the chart uses.
func parse(paths []string) (*template.Template, error) {
	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	// Helm does not offer these.
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	all.Funcs(functions)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if _, err := all.New(filepath.Base(path)).Parse(string(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// read reads a YAML file as Helm does: through JSON, in which every number is a float64.
func read(path string) (object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var parsed, read object
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	asJSON, err := json.Marshal(parsed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read, json.Unmarshal(asJSON, &read)
}

// merge returns the values with those given: objects are merged, everything else is replaced.
func merge(values, given object) object {
	for key, value := range given {
		inner, isObject := value.(object)
		outer, wasObject := values[key].(object)
		if isObject && wasObject {
			value = merge(outer, inner)
		}
		values[key] = value
	}
	return values
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
