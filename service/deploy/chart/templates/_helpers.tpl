{{- define "randflaked.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 }}{{ end }}
{{- end }}

{{- define "randflaked.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "randflaked.meta" -}}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "randflaked.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "randflaked.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "randflaked.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "randflaked.name" .) }}
{{- else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "randflaked.scheme" -}}
{{- if .Values.plaintext }}http{{ else }}https{{ end }}
{{- end }}

{{- define "randflaked.certificate" -}}
{{- .Values.tls.secretName | default (printf "%s-tls" (include "randflaked.name" .)) }}
{{- end }}

{{/* What can't work, and what the schema can't say. */}}
{{- define "randflaked.check" -}}
{{- $tls := .Values.tls }}
{{- $ways := list $tls.secretName $tls.certManager.issuerRef (ternary "plaintext" "" .Values.plaintext) | compact }}
{{- if ne (len $ways) 1 }}
{{- fail "tls: want one of tls.secretName, tls.certManager.issuerRef, and plaintext: true where a mesh or a proxy has TLS" }}
{{- end }}
{{- if and .Values.plaintext $tls.clientCA.secretName }}
{{- fail "tls.clientCA: nobody shows a certificate to plaintext: leave it out" }}
{{- end }}
{{- range $i, $space := .Values.config.spaces }}
{{- if and $space.store (regexMatch "^[^?]*:[^/@]+@|[?&](ssl)?password=" $space.store) }}
{{- fail (printf "config.spaces[%d].store: it has a password, and a ConfigMap is open to many: want storeFile, in one of the secrets" $i) }}
{{- end }}
{{- if and (hasPrefix "kubernetes:" (default "" $space.store)) (not $.Values.serviceAccount.automount) }}
{{- fail (printf "config.spaces[%d].store: the API server asks for the pod's token: want serviceAccount.automount: true" $i) }}
{{- end }}
{{- range $field := list "secretFile" "storeFile" }}
{{- $file := get $space $field }}
{{- if and $file (not (has (dir $file) (include "randflaked.directories" $ | fromJsonArray))) }}
{{- fail (printf "config.spaces[%d].%s: %s: want /run/secrets/randflaked/NAME/KEY, with a NAME that is in secrets" $i $field $file) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "randflaked.directories" -}}
{{- $all := list }}
{{- range .Values.secrets }}{{ $all = append $all (printf "/run/secrets/randflaked/%s" .) }}{{ end }}
{{- toJson $all }}
{{- end }}

{{- define "randflaked.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := set $config "listen" ":8443" }}
{{- $_ := set $config "probes" ":8081" }}
{{- if .Values.plaintext }}
{{- $_ := set $config "plaintext" true }}
{{- else }}
{{- $tls := dict "certificate" "/run/secrets/tls/tls.crt" "key" "/run/secrets/tls/tls.key" }}
{{- with .Values.tls.clientCA }}{{ if .secretName }}{{ $_ := set $tls "clientCA" (printf "/run/secrets/client-ca/%s" .key) }}{{ end }}{{ end }}
{{- $_ := set $config "tls" $tls }}
{{- end }}
{{- toYaml $config }}
{{- end }}
