{{/* What both monitors have in common: how the metrics are asked for. Given root and monitor (its values), without the port. */}}

{{- define "fabric-exporter.endpoint" -}}
{{- $monitor := .monitor -}}
{{- $tls := default dict .root.Values.tls -}}
{{- $auth := default dict .root.Values.basicAuth -}}
path: /metrics
scheme: {{ default ($tls.enabled | default false | ternary "https" "http") $monitor.scheme }}
{{- with $monitor.interval }}
interval: {{ . }}
{{- end }}
{{- with $monitor.scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
honorLabels: {{ default false $monitor.honorLabels }}
{{- if $monitor.tlsConfig }}
tlsConfig:
  {{- toYaml $monitor.tlsConfig | nindent 2 }}
{{- else if $tls.enabled }}
tlsConfig:
  serverName: {{ default (printf "%s.%s.svc" (include "fabric-exporter.fullname" .root) (include "fabric-exporter.namespace" .root)) $tls.serverName }}
  {{- if $tls.insecureSkipVerify }}
  insecureSkipVerify: true
  {{- else }}
  ca:
    secret:
      name: {{ default (include "fabric-exporter.tlsSecret" .root) ($tls.ca).secret }}
      key: {{ default "ca.crt" ($tls.ca).key }}
  {{- end }}
  {{- if ($tls.clientAuth).enabled }}
  {{- $secret := required "tls.clientAuth.monitorSecret: the secret whose certificate the monitor shows" $tls.clientAuth.monitorSecret }}
  cert:
    secret:
      name: {{ $secret }}
      key: tls.crt
  keySecret:
    name: {{ $secret }}
    key: tls.key
  {{- end }}
{{- end }}
{{- if $monitor.basicAuth }}
basicAuth:
  {{- toYaml $monitor.basicAuth | nindent 2 }}
{{- else if and $auth.enabled (not $monitor.authorization) }}
{{- $secret := required "basicAuth.monitorSecret.name: the secret with the name and password that the monitor shows" ($auth.monitorSecret).name }}
basicAuth:
  username:
    name: {{ $secret }}
    key: {{ default "username" $auth.monitorSecret.usernameKey }}
  password:
    name: {{ $secret }}
    key: {{ default "password" $auth.monitorSecret.passwordKey }}
{{- end }}
{{- with $monitor.authorization }}
authorization:
  {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  # Boards and alerts go by the node's name and by this job's name.
  - sourceLabels: [__meta_kubernetes_pod_node_name]
    targetLabel: node
  - targetLabel: job
    replacement: {{ default "fabric-exporter" $monitor.jobName }}
  {{- with $monitor.poolNodeLabel }}
  - sourceLabels: [{{ printf "__meta_kubernetes_node_label_%s" (regexReplaceAll "[^a-zA-Z0-9_]" . "_") }}]
    targetLabel: pool
  {{- end }}
  {{- with $monitor.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $monitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What both have beside the endpoint. */}}
{{- define "fabric-exporter.monitorSpec" -}}
{{- $monitor := .monitor -}}
namespaceSelector:
  matchNames: [{{ include "fabric-exporter.namespace" .root }}]
selector:
  matchLabels:
    {{- include "fabric-exporter.selectorLabels" .root | nindent 4 }}
{{- with $monitor.sampleLimit }}
sampleLimit: {{ int64 . }}
{{- end }}
{{- if $monitor.poolNodeLabel }}
attachMetadata:
  node: true
{{- end }}
{{- with $monitor.podTargetLabels }}
podTargetLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
