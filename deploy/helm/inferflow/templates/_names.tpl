{{/* The roles, as files/roles.yaml has them. */}}
{{- define "inferflow.roles" -}}
{{ .Files.Get "files/roles.yaml" }}
{{- end -}}

{{/* Name of a role's objects: (dict "top" . "role" "featureStore") → release-feature-store */}}
{{- define "inferflow.host" -}}
{{ .top.Release.Name }}-{{ .role | kebabcase }}
{{- end -}}

{{/* Where a role answers gRPC. */}}
{{- define "inferflow.address" -}}
{{- $roles := include "inferflow.roles" .top | fromYaml -}}
{{ include "inferflow.host" . }}:{{ (get $roles .role).ports.grpc }}
{{- end -}}

{{/* How HTTP is spoken. */}}
{{- define "inferflow.scheme" -}}
{{ ternary "https" "http" (not (empty .Values.tls.secretName)) }}
{{- end -}}

{{- define "inferflow.selector" -}}
app.kubernetes.io/name: inferflow
app.kubernetes.io/instance: {{ .top.Release.Name }}
app.kubernetes.io/component: {{ .role | kebabcase }}
{{- end -}}

{{- define "inferflow.labels" -}}
{{ include "inferflow.selector" . }}
app.kubernetes.io/version: {{ .top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .top.Chart.Name .top.Chart.Version }}
{{- end -}}
