{{/* Names of the release's objects and the labels on all of them. */}}

{{/* A Service's name: at most 63 characters, no dots, a letter first. */}}
{{- define "fabric-exporter.dns" -}}
{{- $name := lower . | replace "." "-" | replace "_" "-" | trunc 63 | trimSuffix "-" -}}
{{- if regexMatch "^[0-9-]" $name }}{{ $name = printf "fe-%s" $name | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- $name -}}
{{- end }}

{{- define "fabric-exporter.name" -}}
{{- include "fabric-exporter.dns" (default .Chart.Name .Values.nameOverride) -}}
{{- end }}

{{- define "fabric-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- include "fabric-exporter.dns" .Values.fullnameOverride -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- include "fabric-exporter.dns" (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) -}}
{{- end -}}
{{- end }}

{{/* The full name with an ending, which is never cut off. */}}
{{- define "fabric-exporter.named" -}}
{{- printf "%s-%s" (include "fabric-exporter.fullname" .root | trunc (int (sub 62 (len .ending))) | trimSuffix "-") .ending -}}
{{- end }}

{{- define "fabric-exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end }}

{{/* What the DaemonSet selects by. It can never change: an upgrade would be refused. */}}
{{- define "fabric-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fabric-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | trunc 63 }}
{{- end }}

{{- define "fabric-exporter.labels" -}}
{{- $fixed := include "fabric-exporter.selectorLabels" . | fromYaml -}}
{{- $told := dict "app.kubernetes.io/version" (.Chart.AppVersion | toString) "app.kubernetes.io/managed-by" .Release.Service
  "app.kubernetes.io/component" "monitoring" "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63) -}}
{{- toYaml (merge $fixed (include "fabric-exporter.texts" .Values.commonLabels | fromYaml) $told) -}}
{{- end }}

{{/* metadata of one object: root, name, and where they differ namespace (none for "-"), labels, annotations. */}}
{{- define "fabric-exporter.metadata" -}}
name: {{ .name }}
{{- if ne (default "" .namespace) "-" }}
namespace: {{ default (include "fabric-exporter.namespace" .root) .namespace }}
{{- end }}
labels:
  {{- $common := include "fabric-exporter.labels" .root | fromYaml }}
  {{- toYaml (merge (include "fabric-exporter.texts" .labels | fromYaml) $common) | nindent 2 }}
{{- with merge (include "fabric-exporter.texts" .annotations | fromYaml) (include "fabric-exporter.texts" .root.Values.commonAnnotations | fromYaml) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A map whose values are texts, whatever a values file wrote: Kubernetes refuses a label of 1 and an annotation of true. */}}
{{- define "fabric-exporter.texts" -}}
{{- $texts := dict -}}
{{- range $key, $value := . }}{{ $_ := set $texts $key (toString $value) }}{{ end -}}
{{- toYaml $texts -}}
{{- end }}

{{- define "fabric-exporter.serviceAccountName" -}}
{{- $account := default dict .Values.serviceAccount -}}
{{- default ($account.create | default false | ternary (include "fabric-exporter.fullname" .) "default") $account.name -}}
{{- end }}

{{- define "fabric-exporter.image" -}}
{{- $image := default dict .Values.image -}}
{{- $registry := default $image.registry (default dict .Values.global).imageRegistry -}}
{{- $name := required "image.repository: the image needs a name" $image.repository -}}
{{- if $registry }}{{ $name = printf "%s/%s" (trimSuffix "/" $registry) $name }}{{ end -}}
{{- if $image.digest }}{{ printf "%s@%s" $name $image.digest }}{{ else }}{{ printf "%s:%s" $name (default .Chart.AppVersion $image.tag | toString) }}{{ end -}}
{{- end }}

{{- define "fabric-exporter.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (default list (default dict .Values.global).imagePullSecrets) (default list .Values.imagePullSecrets) -}}
{{- $names = append $names (dict "name" (kindIs "map" . | ternary (get (kindIs "map" . | ternary . dict) "name") .)) -}}
{{- end -}}
{{- if $names }}{{ toYaml (uniq $names) }}{{ end -}}
{{- end }}
