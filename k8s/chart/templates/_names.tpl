{{/* Names and labels. Those of ingress-nginx lead here, for values that are templates themselves. */}}
{{- define "txingress.name" -}}
{{- .Values.nameOverride | default "txingress" | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "txingress.fullname" -}}
{{- $name := include "txingress.name" . -}}
{{- $usual := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $usual | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- define "txingress.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}
{{- define "txingress.account" -}}
{{- $usual := ternary (include "txingress.fullname" .) "default" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default $usual -}}
{{- end -}}
{{- define "txingress.selector" -}}
app.kubernetes.io/name: {{ include "txingress.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: controller
{{- end -}}
{{- define "txingress.labels" -}}
{{ include "txingress.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "ingress-nginx.name" -}}{{ include "txingress.name" . }}{{- end -}}
{{- define "ingress-nginx.fullname" -}}{{ include "txingress.fullname" . }}{{- end -}}
{{- define "ingress-nginx.controller.fullname" -}}{{ include "txingress.fullname" . }}{{- end -}}
{{- define "ingress-nginx.namespace" -}}{{ include "txingress.namespace" . }}{{- end -}}
{{- define "ingress-nginx.labels" -}}{{ include "txingress.labels" . }}{{- end -}}
{{- define "ingress-nginx.selectorLabels" -}}
app.kubernetes.io/name: {{ include "txingress.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}
{{- define "ingress-nginx.serviceAccountName" -}}{{ include "txingress.account" . }}{{- end -}}

{{/* Metadata of an object: (dict "root" $ "name" NAME "labels" MORE "annotations" THOSE "namespace" ITS); a namespace of "-" is none. */}}
{{- define "txingress.metadata" -}}
name: {{ .name | quote }}
{{- $namespace := .namespace | default (include "txingress.namespace" .root) }}
{{- if ne $namespace "-" }}
namespace: {{ $namespace | quote }}
{{- end }}
{{- $labels := include "txingress.labels" .root | fromYaml }}
{{- range $name, $value := .labels }}
{{- $_ := set $labels $name $value }}
{{- end }}
labels:
  {{- toYaml $labels | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "ingress-nginx.defaultBackend.fullname" -}}
{{- printf "%s-%s" (include "txingress.fullname" .) .Values.defaultBackend.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "txingress.backendSelector" -}}
app.kubernetes.io/name: {{ include "txingress.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: default-backend
{{- end -}}

{{/* A value as the text that somebody has written: Helm reads whole numbers as those with a point. */}}
{{- define "txingress.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq . (floor .) -}}{{ printf "%.0f" . }}{{- else -}}{{ . }}{{- end -}}
{{- else if not (kindIs "invalid" .) -}}
{{- . | toString -}}
{{- end -}}
{{- end -}}

{{/* Whether nothing is said: "true", or nothing. */}}
{{- define "txingress.isEmpty" -}}
{{- if kindIs "map" . -}}
{{- $all := true -}}
{{- range . -}}{{- if not (include "txingress.isEmpty" .) -}}{{- $all = false -}}{{- end -}}{{- end -}}
{{- if $all -}}true{{- end -}}
{{- else if empty . -}}true{{- end -}}
{{- end -}}

{{/* Which of (list) "names" may be meant by "name": the one that shares most pairs of letters with it, if it shares half of them. */}}
{{- define "txingress.meant" -}}
{{- $name := lower .name -}}
{{- $best := "" -}}{{- $most := 49 -}}
{{- range .names -}}
{{- $other := lower . -}}
{{- $shared := 0 -}}
{{- range $at := until (max 0 (sub (len $name) 1) | int) -}}
{{- if contains (substr $at (int (add $at 2)) $name) $other -}}{{- $shared = add $shared 1 -}}{{- end -}}
{{- end -}}
{{- $share := div (mul 200 $shared) (max 1 (sub (add (len $name) (len $other)) 2)) -}}
{{- if gt (int $share) (int $most) -}}{{- $most = $share -}}{{- $best = . -}}{{- end -}}
{{- end -}}
{{- $best -}}
{{- end -}}

{{/* Seconds of a duration such as 30s, 4m, 1m30s or 30; nothing where it is none. */}}
{{- define "txingress.seconds" -}}
{{- $text := . -}}
{{- if regexMatch "^[0-9]+$" $text -}}{{ $text }}
{{- else if and $text (regexMatch "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$" $text) -}}
{{- $seconds := 0 -}}
{{- range $unit, $each := dict "h" 3600 "m" 60 "s" 1 -}}
{{- $found := regexFind (printf "[0-9]+%s" $unit) $text -}}
{{- if $found -}}{{- $seconds = add $seconds (mul (trimSuffix $unit $found | int) $each) -}}{{- end -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}
{{- end -}}
