{{/* Security contexts: ours, with what values have otherwise. */}}
{{- define "txingress.podContext" -}}
{{- $ours := dict "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- range $name, $value := .Values.controller.podSecurityContext -}}{{- $_ := set $ours $name $value -}}{{- end -}}
{{- $sysctls := $ours.sysctls | default list -}}
{{- range $name, $value := .Values.controller.sysctls -}}{{- $sysctls = append $sysctls (dict "name" $name "value" (include "txingress.text" $value)) -}}{{- end -}}
{{- if $sysctls -}}{{- $_ := set $ours "sysctls" $sysctls -}}{{- end -}}
{{- toYaml $ours -}}
{{- end -}}
{{- define "txingress.containerContext" -}}
{{- $ours := dict "readOnlyRootFilesystem" true "allowPrivilegeEscalation" false "capabilities" (dict "drop" (list "ALL") "add" (list "NET_BIND_SERVICE")) -}}
{{- range $name, $value := .Values.controller.containerSecurityContext -}}{{- $_ := set $ours $name $value -}}{{- end -}}
{{- toYaml $ours -}}
{{- end -}}

{{/* Terms of affinity or spread, where selectors of the pods of ingress-nginx select those of this controller: (dict "facts" F "value" THOSE). */}}
{{- define "txingress.ownSelectors" -}}
{{- $f := .facts -}}
{{- if kindIs "slice" .value -}}
{{- range .value -}}{{- include "txingress.ownSelectors" (dict "facts" $f "value" .) -}}{{- end -}}
{{- else if kindIs "map" .value -}}
{{- $value := .value -}}
{{- range $name, $inner := $value -}}
{{- if and (eq $name "labelSelector") (kindIs "map" $inner) -}}
{{- $isTheirs := eq (dig "matchLabels" "app.kubernetes.io/name" "" $inner) "ingress-nginx" -}}
{{- range $inner.matchExpressions -}}
{{- if and (eq .key "app.kubernetes.io/name") (has "ingress-nginx" .values) -}}{{- $isTheirs = true -}}{{- end -}}
{{- end -}}
{{- if $isTheirs -}}{{- $_ := set $value "labelSelector" (dict "matchLabels" $f.selector) -}}{{- end -}}
{{- else -}}
{{- include "txingress.ownSelectors" (dict "facts" $f "value" $inner) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One probe: (dict "facts" F "path" PATH "of" FIELDS). */}}
{{- define "txingress.probe" -}}
httpGet:
  path: {{ .path }}
  port: probes
  {{- with .facts.probesHost }}
  host: {{ . }}
  {{- end }}
{{- $fields := omit .of "httpGet" "port" "tcpSocket" "exec" }}
{{- if eq (int .of.successThreshold) 1 }}{{ $fields = omit $fields "successThreshold" }}{{ end }}
{{- if not .of.initialDelaySeconds }}{{ $fields = omit $fields "initialDelaySeconds" }}{{ end }}
{{ toYaml $fields }}
{{- end -}}

{{/* The template of the pods. */}}
{{- define "txingress.pod" -}}
{{- $f := . -}}{{- $root := .root -}}{{- $v := .root.Values -}}{{- $c := $v.controller -}}
metadata:
  labels:
    {{- $labels := include "txingress.labels" $root | fromYaml }}
    {{- range $name, $value := $c.podLabels }}{{ $_ := set $labels $name $value }}{{ end }}
    {{- range $name, $value := $f.selector }}{{ $_ := set $labels $name $value }}{{ end }}
    {{- toYaml $labels | nindent 4 }}
  {{- with $c.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "txingress.account" $root | quote }}
  {{- if not $v.serviceAccount.automountServiceAccountToken }}
  automountServiceAccountToken: false
  {{- end }}
  {{- with $v.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $c.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $c.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $c.affinity }}
  {{- $affinity := tpl (toYaml $c.affinity) $root | fromYaml }}
  {{- include "txingress.ownSelectors" (dict "facts" $f "value" $affinity) }}
  affinity:
    {{- toYaml $affinity | nindent 4 }}
  {{- end }}
  {{- if $c.topologySpreadConstraints }}
  {{- $spread := tpl (toYaml $c.topologySpreadConstraints) $root | fromYamlArray }}
  {{- include "txingress.ownSelectors" (dict "facts" $f "value" $spread) }}
  topologySpreadConstraints:
    {{- toYaml $spread | nindent 4 }}
  {{- else if not $f.isDaemonSet }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- toYaml $f.selector | nindent 10 }}
  {{- end }}
  {{- range $name := list "priorityClassName" "runtimeClassName" "hostname" }}
  {{- with get $c $name }}
  {{ $name }}: {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- if $c.hostNetwork }}
  hostNetwork: true
  {{- end }}
  {{- $policy := $c.dnsPolicy }}
  {{- /* With the node's resolver no Service would be found; ingress-nginx leaves that to its user. */}}
  {{- if and $c.hostNetwork (has $policy (list "" "ClusterFirst")) }}{{ $policy = "ClusterFirstWithHostNet" }}{{ end }}
  {{- with $policy }}
  dnsPolicy: {{ . }}
  {{- end }}
  {{- with $c.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $c.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $c.shareProcessNamespace }}
  shareProcessNamespace: true
  {{- end }}
  # What --shutdown-delay and --shutdown-grace take, and room to stop (docs/shutdown.md).
  terminationGracePeriodSeconds: {{ $f.terminationSeconds }}
  securityContext:
    {{- include "txingress.podContext" $root | nindent 4 }}
  {{- with $c.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $c.containerName | quote }}
      {{- $tag := $v.image.tag | default $root.Chart.AppVersion }}
      image: {{ $v.image.repository }}{{ with $v.image.digest }}@{{ . }}{{ else }}:{{ include "txingress.text" $tag }}{{ end }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args:
        {{- range $f.arguments }}
        - {{ . | quote }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        {{- if $f.isZoned }}
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        {{- end }}
        {{- with $c.extraEnvs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- range $name := list "http" "https" }}
        - name: {{ $name }}
          containerPort: {{ get $f.ports $name }}
          {{- if $c.hostPort.enabled }}
          hostPort: {{ int (get $c.hostPort.ports $name) }}
          {{- end }}
        {{- end }}
        - name: probes
          containerPort: {{ $f.ports.probes }}
        {{- range $protocol := list "tcp" "udp" }}
        {{- range $port, $_ := get $v $protocol | default dict }}
        - name: {{ with $v.portNamePrefix }}{{ . }}-{{ end }}{{ $port }}-{{ $protocol }}
          containerPort: {{ int $port }}
          protocol: {{ upper $protocol }}
          {{- if $c.hostPort.enabled }}
          hostPort: {{ int $port }}
          {{- end }}
        {{- end }}
        {{- end }}
        {{- if $f.hasWebhook }}
        - name: admission
          containerPort: {{ int $c.admissionWebhooks.port }}
        {{- end }}
      livenessProbe:
        {{- include "txingress.probe" (dict "facts" $f "path" "/healthz" "of" $c.livenessProbe) | nindent 8 }}
      {{- $readiness := dict }}
      {{- range $name, $value := $c.readinessProbe }}{{ $_ := set $readiness $name $value }}{{ end }}
      {{- $_ := set $readiness "failureThreshold" $f.readinessFailures }}
      readinessProbe:
        {{- include "txingress.probe" (dict "facts" $f "path" "/readyz" "of" $readiness) | nindent 8 }}
      {{- with $c.startupProbe }}
      startupProbe:
        {{- include "txingress.probe" (dict "facts" $f "path" "/healthz" "of" .) | nindent 8 }}
      {{- end }}
      {{- with $f.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "txingress.containerContext" $root | nindent 8 }}
      {{- if or $c.extraVolumeMounts $f.hasWebhook }}
      volumeMounts:
        {{- if $f.hasWebhook }}
        - name: admission
          mountPath: /etc/txingress/admission
          readOnly: true
        {{- end }}
        {{- with $c.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    {{- with $c.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or $c.extraVolumes $f.hasWebhook }}
  volumes:
    {{- if $f.hasWebhook }}
    - name: admission
      secret:
        secretName: "{{ $f.name }}-admission-tls"
        # Pods do not wait for it: without it reviews are not answered, and everything is served.
        optional: true
    {{- end }}
    {{- with $c.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end -}}
