{{/* The pod of one role: (dict "top" . "role" … "facts" … "chosen" …) */}}
{{- define "inferflow.pod" -}}
{{- $top := .top -}}
{{- $facts := .facts -}}
{{- $chosen := .chosen -}}
metadata:
  labels:
    {{- include "inferflow.labels" . | nindent 4 }}
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: {{ $facts.ports.http | quote }}
    prometheus.io/scheme: {{ include "inferflow.scheme" $top }}
    checksum/roles: {{ $top.Files.Get "files/roles.yaml" | sha256sum }}
    {{- with $top.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "inferflow.host" . }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 60
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with $top.Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "inferflow.selector" $ | nindent 10 }}
    {{- end }}
  containers:
    - name: {{ .role | kebabcase }}
      image: "{{ $top.Values.image.repository }}:{{ $top.Values.image.tag | default $top.Chart.AppVersion }}"
      imagePullPolicy: {{ $top.Values.image.pullPolicy }}
      args: [{{ $facts.command }}]
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        {{- range $name, $entry := $facts.secrets }}
        - name: {{ $name }}
          valueFrom: {secretKeyRef: {name: {{ $top.Values.secret.name }}, key: {{ $entry }}}}
        {{- end }}
        - {name: APP_NAME, value: {{ $top.Values.appName | quote }}}
        - {name: APP_LOG_LEVEL, value: {{ $top.Values.logLevel | quote }}}
        - {name: INFERFLOW_DATA_DIR, value: /var/lib/inferflow}
        - {name: INFERFLOW_LOG_FORMAT, value: json}
        {{- range $name, $value := $facts.env }}
        {{- with tpl $value $top }}
        - {name: {{ $name }}, value: {{ . | quote }}}
        {{- end }}
        {{- end }}
        {{- if $top.Values.tls.secretName }}
        - {name: INFERFLOW_TLS_CERT, value: /etc/inferflow/tls/tls.crt}
        - {name: INFERFLOW_TLS_KEY, value: /etc/inferflow/tls/tls.key}
        - {name: INFERFLOW_TLS_CA, value: /etc/inferflow/tls/ca.crt}
        - {name: INFERFLOW_TLS_CLIENT_AUTH, value: {{ $top.Values.tls.clientAuth | quote }}}
        - {name: INFERFLOW_TLS_HTTP_CLIENT_AUTH, value: "off"}
        {{- with $top.Values.tls.serverName }}
        - {name: INFERFLOW_TLS_SERVER_NAME, value: {{ . | quote }}}
        {{- end }}
        {{- end }}
        {{- range $name, $value := $chosen.env }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      ports:
        {{- range $name, $port := $facts.ports }}
        - {name: {{ $name }}, containerPort: {{ $port }}}
        {{- end }}
      {{- $scheme := include "inferflow.scheme" $top | upper }}
      startupProbe:
        httpGet: {path: /health/live, port: http, scheme: {{ $scheme }}}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /health/live, port: http, scheme: {{ $scheme }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /health/ready, port: http, scheme: {{ $scheme }}}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        {{- toYaml $chosen.resources | nindent 8 }}
      securityContext:
        readOnlyRootFilesystem: true
        allowPrivilegeEscalation: false
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: state, mountPath: /var/lib/inferflow}
        - {name: scratch, mountPath: /tmp}
        {{- if $top.Values.tls.secretName }}
        - {name: tls, mountPath: /etc/inferflow/tls, readOnly: true}
        {{- end }}
  volumes:
    - name: state
      emptyDir: {sizeLimit: {{ $chosen.stateSize }}}
    - name: scratch
      emptyDir: {sizeLimit: {{ $chosen.scratchSize }}}
    {{- if $top.Values.tls.secretName }}
    - name: tls
      secret: {secretName: {{ $top.Values.tls.secretName }}, defaultMode: 0440}
    {{- end }}
  {{- with $top.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $top.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
