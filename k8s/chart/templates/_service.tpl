{{/* A Service that leads to the traffic: (dict "facts" F "key" KEY "of" VALUES "name" NAME "type" TYPE). */}}
{{- define "txingress.service" -}}
{{- $f := .facts -}}{{- $of := .of -}}{{- $root := $f.root -}}{{- $s := $root.Values.controller.service -}}
{{- $annotations := dict -}}
{{- range $name, $raw := $of.annotations -}}
{{- $value := tpl (include "txingress.text" $raw) $root -}}
{{- if not (and $f.beside (include "txingress.isItsOwn" (dict "tables" $f.tables "name" $name "value" $value))) -}}
{{- $_ := set $annotations $name $value -}}
{{- end -}}
{{- end -}}
{{- $isOutside := has .type (list "LoadBalancer" "NodePort") -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "txingress.metadata" (dict "root" $root "name" .name "labels" .labels "annotations" $annotations) | nindent 2 }}
spec:
  type: {{ .type }}
  {{- if $isOutside }}
  externalTrafficPolicy: {{ $of.externalTrafficPolicy | default (ternary "Local" "Cluster" (eq .type "LoadBalancer")) }}
  {{- else if and $of.externalTrafficPolicy $of.externalIPs }}
  externalTrafficPolicy: {{ $of.externalTrafficPolicy }}
  {{- end }}
  {{- range $name := list "loadBalancerClass" "sessionAffinity" "ipFamilyPolicy" }}
  {{- with get $of $name }}
  {{ $name }}: {{ . }}
  {{- end }}
  {{- end }}
  {{- if and $of.trafficDistribution (semverCompare ">=1.31.0-0" $root.Capabilities.KubeVersion.Version) }}
  trafficDistribution: {{ $of.trafficDistribution }}
  {{- end }}
  {{- if kindIs "bool" $of.allocateLoadBalancerNodePorts }}
  allocateLoadBalancerNodePorts: {{ $of.allocateLoadBalancerNodePorts }}
  {{- end }}
  {{- range $name := list "ipFamilies" "loadBalancerSourceRanges" }}
  {{- with get $of $name }}
  {{ $name }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- if not $f.beside }}
  {{- range $name := list "clusterIP" "loadBalancerIP" }}
  {{- with get $of $name }}
  {{ $name }}: {{ . }}
  {{- end }}
  {{- end }}
  {{- with $of.healthCheckNodePort }}
  healthCheckNodePort: {{ int . }}
  {{- end }}
  {{- range $name := list "clusterIPs" "externalIPs" }}
  {{- with get $of $name }}
  {{ $name }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- end }}
  selector:
    {{- toYaml $f.selector | nindent 4 }}
  ports:
    {{- range $name := list "http" "https" }}
    {{- if ternary $s.enableHttp $s.enableHttps (eq $name "http") }}
    - name: {{ $name }}
      port: {{ get ($of.ports | default dict) $name | default (get $s.ports $name) | int }}
      targetPort: {{ get $f.targets (printf "%s.%s" $.key $name) }}
      {{- if $of.appProtocol }}
      appProtocol: {{ $name }}
      {{- end }}
      {{- if and $isOutside (get $of.nodePorts $name) (not $f.beside) }}
      nodePort: {{ get $of.nodePorts $name | int }}
      {{- end }}
    {{- end }}
    {{- end }}
    {{- range $protocol := list "tcp" "udp" }}
    {{- range $port, $_ := get $root.Values $protocol | default dict }}
    - name: {{ with $root.Values.portNamePrefix }}{{ . }}-{{ end }}{{ $port }}-{{ $protocol }}
      port: {{ int $port }}
      # By its number: an entry of the ConfigMap has a port listen, not what the container says.
      targetPort: {{ int $port }}
      protocol: {{ upper $protocol }}
      {{- $numbers := get $of.nodePorts $protocol | default dict }}
      {{- if and $isOutside (get $numbers $port) (not $f.beside) }}
      nodePort: {{ get $numbers $port | int }}
      {{- end }}
    {{- end }}
    {{- end }}
{{- end -}}
