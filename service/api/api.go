// Package api has the protocol of randflaked: protobuf files, the code generated from them, and the OpenAPI document.
package api

import _ "embed"

// OpenAPI is the OpenAPI 3.1 document of the protocol, as YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte
