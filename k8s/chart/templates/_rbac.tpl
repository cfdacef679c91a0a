{{/* Rules on what is read and written wherever Ingresses are served. */}}
{{- define "txingress.reading" -}}
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses/status]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* The binding of a role of that name to the account: (dict "facts" F "kind" Role|ClusterRole "name" NAME "namespace" ITS). */}}
{{- define "txingress.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  {{- include "txingress.metadata" (dict "root" .facts.root "name" .name "namespace" (.namespace | default "-")) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ include "txingress.account" .facts.root | quote }}
    namespace: {{ .facts.namespace | quote }}
{{- end -}}
