{{/* The exporter's configuration: what the switches mean, and the user's own, which wins. */}}

{{- define "fabric-exporter.configuration" -}}
{{- $attribution := default dict .Values.processAttribution -}}
{{- $jobs := dict "processes" (default false $attribution.enabled) -}}
{{- if $attribution.enabled }}{{ $_ := set $jobs "pod_logs_dir" "/host/var/log" }}{{ end -}}
{{- if (default dict .Values.podResources).enabled }}{{ $_ := set $jobs "pod_resources" "/host/kubelet/pod-resources/kubelet.sock" }}{{ end -}}
{{- if (default dict .Values.jobDirectory).enabled }}{{ $_ := set $jobs "directory" "/host/gpu-jobs" }}{{ end -}}
{{- $_ := set $jobs "enabled" (or $attribution.enabled (default dict .Values.podResources).enabled (default dict .Values.jobDirectory).enabled | default false) -}}
{{- $kernelLog := dict "enabled" (default false (default dict .Values.kernelLog).enabled) -}}
{{- $sources := dict "sysfs_root" "/host/sys" "kernel_log" $kernelLog -}}
{{- with (default dict .Values.nvidia).restartOnUnknownErrorAfter -}}
{{- $_ := set $sources "nvml" (dict "exit_on_unknown_error_after" .) -}}
{{- end -}}
{{- $ours := dict "sources" $sources "jobs" $jobs "control" (dict "enabled" (default false (default dict .Values.controlSocket).enabled)) -}}
{{- if (default dict .Values.maintenance).taints }}{{ $_ := set $ours "maintenance" (dict "kubernetes" (dict "enabled" true)) }}{{ end -}}
{{- if eq (include "fabric-exporter.webSecret" .) "" }}{{ else }}{{ $_ := set $ours "web" (dict "config_file" "/etc/fabric-exporter/web/web.yaml") }}{{ end -}}
{{- include "fabric-exporter.block" (mergeOverwrite $ours (deepCopy (default dict .Values.config))) -}}
{{- end }}

{{/* Maps of maps, scalars and lists of scalars as YAML. toYaml writes 1000000 as 1e+06, which is no count. */}}
{{- define "fabric-exporter.block" -}}
{{- range $key, $value := . -}}
{{- if kindIs "map" $value }}
{{ $key }}:
{{- include "fabric-exporter.block" $value | trim | nindent 2 }}
{{- else }}
{{ $key }}: {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret with the web configuration file; empty where everything is plain. */}}
{{- define "fabric-exporter.webSecret" -}}
{{- $own := (default dict .Values.webConfig).existingSecret -}}
{{- if $own }}{{ $own }}{{ else if or (default dict .Values.tls).enabled (default dict .Values.basicAuth).enabled .Values.webHeaders -}}
{{- include "fabric-exporter.named" (dict "root" . "ending" "web") -}}
{{- end -}}
{{- end }}

{{/* The Secret with certificate and key; empty without TLS. */}}
{{- define "fabric-exporter.tlsSecret" -}}
{{- $tls := default dict .Values.tls -}}
{{- if $tls.existingSecret }}{{ $tls.existingSecret }}
{{- else if not $tls.enabled -}}
{{- else if (default dict $tls.certManager).enabled }}{{ include "fabric-exporter.named" (dict "root" . "ending" "tls") }}
{{- else }}{{ fail "tls.enabled: name the certificate's secret in tls.existingSecret, or switch tls.certManager.enabled on" }}
{{- end -}}
{{- end }}

{{/* Whether the container runs as root: the kubelet's socket and the kernel log open to nobody else. */}}
{{- define "fabric-exporter.needsRoot" -}}
{{- if or (default dict .Values.podResources).enabled (default dict .Values.kernelLog).enabled }}true{{ end -}}
{{- end }}
