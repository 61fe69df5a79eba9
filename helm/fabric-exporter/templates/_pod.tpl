{{/* Parts of the pod. */}}

{{- define "fabric-exporter.statePath" -}}
{{- default (printf "/var/lib/%s" (include "fabric-exporter.fullname" .)) (default dict .Values.state).hostPath -}}
{{- end }}

{{- define "fabric-exporter.runPath" -}}
{{- default (printf "/run/%s" (include "fabric-exporter.fullname" .)) (default dict .Values.controlSocket).hostPath -}}
{{- end }}

{{/* The pod's and the container's security, with root where a switch needs it. */}}
{{- define "fabric-exporter.podSecurity" -}}
{{- $context := deepCopy (default dict .Values.securityContext) -}}
{{- if include "fabric-exporter.needsRoot" . -}}
{{- $context = mergeOverwrite $context (dict "runAsNonRoot" false "runAsUser" 0 "runAsGroup" 0) -}}
{{- end -}}
{{- include "fabric-exporter.numbers" $context -}}
{{- end }}

{{- define "fabric-exporter.containerSecurity" -}}
{{- $context := deepCopy (default dict .Values.containerSecurityContext) -}}
{{- if (default dict .Values.kernelLog).enabled -}}
{{- $context = mergeOverwrite $context (dict "privileged" true "allowPrivilegeEscalation" true) -}}
{{- $_ := unset $context "capabilities" -}}
{{- end -}}
{{- include "fabric-exporter.numbers" $context -}}
{{- end }}

{{/* As YAML, with ids as whole numbers: values are floats to Helm, and a uid of 1e+09 is refused. */}}
{{- define "fabric-exporter.numbers" -}}
{{- range $key, $value := . -}}
{{- if kindIs "float64" $value }}{{ $_ := set $ $key (int64 $value) }}{{ end -}}
{{- end -}}
{{- if . }}{{ toYaml . }}{{ end -}}
{{- end }}

{{- define "fabric-exporter.user" -}}
{{- if include "fabric-exporter.needsRoot" . }}0{{ else }}{{ int64 (default 65532 (default dict .Values.securityContext).runAsUser) }}{{ end -}}
{{- end }}

{{- define "fabric-exporter.group" -}}
{{- if include "fabric-exporter.needsRoot" . }}0{{ else }}{{ int64 (default 65532 (default dict .Values.securityContext).runAsGroup) }}{{ end -}}
{{- end }}

{{- define "fabric-exporter.env" -}}
- name: FABRIC_CONFIG
  value: /etc/fabric-exporter/config/config.yaml
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: FABRIC_WEB_LISTEN_ADDRESS
  value: {{ printf "%s:%d" (default "" .Values.listenHost) (int (default 29100 .Values.port)) | quote }}
- name: FABRIC_WEB_HEALTH_ADDRESS
  value: {{ printf "%s:%d" (default "" .Values.listenHost) (int (default 29101 .Values.healthPort)) | quote }}
- name: NVIDIA_VISIBLE_DEVICES
  value: {{ default "void" (default dict .Values.nvidia).visibleDevices | quote }}
{{- range .Values.extraEnv }}
- name: {{ .name }}
  {{- if hasKey . "value" }}
  value: {{ kindIs "float64" .value | ternary (toJson .value) (toString .value) | quote }}
  {{- end }}
  {{- with .valueFrom }}
  valueFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "fabric-exporter.mounts" -}}
- name: config
  mountPath: /etc/fabric-exporter/config
  readOnly: true
{{- if include "fabric-exporter.webSecret" . }}
- name: web
  mountPath: /etc/fabric-exporter/web
  readOnly: true
{{- end }}
{{- if include "fabric-exporter.tlsSecret" . }}
- name: tls
  mountPath: /etc/fabric-exporter/tls
  readOnly: true
{{- end }}
{{- if ((.Values.tls).clientAuth).enabled }}
- name: client-ca
  mountPath: /etc/fabric-exporter/client-ca
  readOnly: true
{{- end }}
- name: sys
  mountPath: /host/sys
  readOnly: true
  mountPropagation: HostToContainer
- name: state
  mountPath: /var/lib/fabric-exporter
{{- if (.Values.controlSocket).enabled }}
- name: run
  mountPath: /run/fabric-exporter
{{- end }}
{{- if (.Values.kernelLog).enabled }}
- name: kernel-log
  mountPath: /dev/kmsg
  readOnly: true
{{- end }}
{{- if (.Values.podResources).enabled }}
- name: pod-resources
  mountPath: /host/kubelet/pod-resources
  readOnly: true
{{- end }}
{{- if (.Values.processAttribution).enabled }}
- name: pod-logs
  mountPath: /host/var/log
  readOnly: true
{{- end }}
{{- if (.Values.jobDirectory).enabled }}
- name: job-directory
  mountPath: /host/gpu-jobs
  readOnly: true
  mountPropagation: HostToContainer
{{- end }}
{{- range .Values.extraHostVolumes }}
- name: {{ .name }}
  mountPath: {{ .mountPath }}
  readOnly: {{ hasKey . "readOnly" | ternary .readOnly true }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "fabric-exporter.volumes" -}}
- name: config
  configMap:
    name: {{ default (include "fabric-exporter.fullname" .) .Values.existingConfigMap }}
{{- with include "fabric-exporter.webSecret" . }}
- name: web
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    items:
      - key: {{ default "web.yaml" (($.Values.webConfig).existingSecret | empty | ternary "" ($.Values.webConfig).key) }}
        path: web.yaml
{{- end }}
{{- with include "fabric-exporter.tlsSecret" . }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- if ((.Values.tls).clientAuth).enabled }}
- name: client-ca
  secret:
    secretName: {{ required "tls.clientAuth.caSecret: the secret with the authority of the clients" .Values.tls.clientAuth.caSecret }}
    defaultMode: 0440
    items:
      - key: {{ default "ca.crt" .Values.tls.clientAuth.caKey }}
        path: ca.crt
{{- end }}
- name: sys
  hostPath:
    path: {{ default "/sys" .Values.sysfsPath }}
    type: Directory
- name: state
  {{- if eq (default "emptyDir" (.Values.state).type) "hostPath" }}
  hostPath:
    path: {{ include "fabric-exporter.statePath" . }}
    type: DirectoryOrCreate
  {{- else }}
  emptyDir:
    sizeLimit: {{ default "1Gi" (.Values.state).sizeLimit }}
  {{- end }}
{{- if (.Values.controlSocket).enabled }}
- name: run
  hostPath:
    path: {{ include "fabric-exporter.runPath" . }}
    type: DirectoryOrCreate
{{- end }}
{{- if (.Values.kernelLog).enabled }}
- name: kernel-log
  hostPath:
    path: /dev/kmsg
    type: CharDevice
{{- end }}
{{- if (.Values.podResources).enabled }}
- name: pod-resources
  hostPath:
    path: {{ printf "%s/pod-resources" (default "/var/lib/kubelet" .Values.podResources.kubeletPath | trimSuffix "/") }}
    type: Directory
{{- end }}
{{- if (.Values.processAttribution).enabled }}
- name: pod-logs
  hostPath:
    path: {{ default "/var/log" .Values.processAttribution.podLogsPath }}
    type: Directory
{{- end }}
{{- if (.Values.jobDirectory).enabled }}
- name: job-directory
  hostPath:
    path: {{ default "/run/gpu-jobs" .Values.jobDirectory.path }}
    type: DirectoryOrCreate
{{- end }}
{{- range .Values.extraHostVolumes }}
- name: {{ .name }}
  hostPath:
    path: {{ .hostPath }}
    {{- with .type }}
    type: {{ . }}
    {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
