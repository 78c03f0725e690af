{{- /*
Every permission of the operator, in one place. Those on Mooring's kinds derive from files/kinds.yaml. test/integration/chart-rbac.test.ts
compares all of them with a list and runs an operator with exactly these permissions.
*/ -}}

{{- define "mooring.kinds" -}}
{{ .Files.Get "files/kinds.yaml" }}
{{- end -}}

{{- /* The operator's permissions on Mooring's kinds: dict root, namespaced (true or false). */ -}}
{{- define "mooring.rules.kinds" -}}
{{- range (include "mooring.kinds" .root | fromYaml).kinds }}
{{- if eq .namespaced $.namespaced }}
- apiGroups: [mooring.dev]
  resources: [{{ .resource }}]
  verbs: {{ toJson .verbs }}
- apiGroups: [mooring.dev]
  resources: [{{ .resource }}/status]
  verbs: [patch, update]
{{- end }}
{{- end }}
{{- end -}}

{{- /* The web page's own permissions: to read Mooring's kinds and events, and nothing else. dict root, namespaced (true or false). */ -}}
{{- define "mooring.rules.ui" -}}
{{- range (include "mooring.kinds" .root | fromYaml).kinds }}
{{- if eq .namespaced $.namespaced }}
- apiGroups: [mooring.dev]
  resources: [{{ .resource }}]
  verbs: [list, watch]
{{- end }}
{{- end }}
{{- if .namespaced }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
{{- end }}
{{- end -}}

{{- /* In each namespace that is served: everywhere, or in each of watchNamespaces. */ -}}
{{- define "mooring.rules.objects" -}}
{{ include "mooring.rules.kinds" (dict "root" . "namespaced" true) }}
{{ include "mooring.rules.events" . }}
# The address of a Service that receives callbacks of jobs of its namespace.
- apiGroups: [""]
  resources: [services]
  verbs: [get]
{{- end -}}

{{- define "mooring.rules.events" -}}
# `patch` counts up a series instead of making an event again.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{- /* What has no namespace. */ -}}
{{- define "mooring.rules.cluster" -}}
{{ include "mooring.rules.kinds" (dict "root" . "namespaced" false) }}
# Labels for allowedNamespaces and shares of a ClusterAccount, and the UID of kube-system, which names the cluster.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list]
{{- if not .Values.watchNamespaces }}
# Whether the process of another installation still serves an account. Its name is not known before.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get]
{{- end }}
{{- if and .Values.metrics.enabled (eq .Values.metrics.auth "token-review") }}
# Who asks for metrics, and whether they may.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end -}}

{{- /* The lease of each process, which has the name of its pod and a random part: no rule can name it. */ -}}
{{- define "mooring.rules.leases" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, list, update, delete]
{{- end -}}

{{- /* In the release's namespace: leases, the usage of 13 months, and the mark of a restore of etcd. A name cannot limit `create`. */ -}}
{{- define "mooring.rules.installation" -}}
{{ include "mooring.rules.leases" . }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames:
{{- range until 13 }}
  - mooring-usage-{{ . }}
{{- end }}
  verbs: [get, update]
# The mark of a restore of etcd (docs/how-to/recovery.md).
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [mooring-etcd-restored]
  verbs: [get, patch]
{{- end -}}

{{- /* In the namespaces of "mooring.readNamespaces": what specs refer to by name. Never listed, never watched. */ -}}
{{- define "mooring.rules.secret-reader" -}}
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [get]
{{- end -}}

{{- /*
In the namespaces of rbac.exportNamespaces: spec.exportTo. Mooring changes and deletes only what one of its objects owns; RBAC cannot
express this.
*/ -}}
{{- define "mooring.rules.configmap-exporter" -}}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, patch, delete]
{{- end -}}

{{- define "mooring.rules.secret-exporter" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch, delete]
{{- end -}}

{{- /* Namespaces whose Secrets and ConfigMaps the operator reads, as JSON; ["*"]: all. */ -}}
{{- define "mooring.readNamespaces" -}}
{{- $watched := .Values.watchNamespaces -}}
{{- $named := .Values.rbac.secretNamespaces -}}
{{- $names := concat (list .Release.Namespace) $watched $named -}}
{{- $account := include "mooring.defaultAccount" . | fromYaml -}}
{{- with (dig "spec" "apiKeySecretRef" "namespace" "" $account) }}{{ $names = append $names . }}{{ end -}}
{{- if not (or $watched $named) }}{{ $names = append $names "default" }}{{ end -}}
{{- ternary (list "*") (uniq $names) (has "*" $names) | toJson -}}
{{- end -}}

{{- /* Namespaces of an exportTo, as JSON; ["*"]: all. dict root, kind (configMaps or secrets). */ -}}
{{- define "mooring.exportNamespaces" -}}
{{- $names := get .root.Values.rbac.exportNamespaces .kind -}}
{{- $watched := .root.Values.watchNamespaces -}}
{{- if and (has "*" $names) $watched -}}
{{- $names = $watched -}}
{{- else if has "*" $names -}}
{{- $names = list "*" -}}
{{- else if $watched -}}
{{- range $names }}
{{- if not (has . $watched) }}
{{- fail (printf "rbac.exportNamespaces.%s names %s, which is not in watchNamespaces: add it there, or remove it here" $.kind .) -}}
{{- end }}
{{- end }}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{- /*
People: what view, edit and admin see and change. Accounts carry keys and money, ArtifactStores may use the operator's own
identity: changing them is for admins.
*/ -}}
{{- define "mooring.resources" -}}
{{- $resources := list }}
{{- range (include "mooring.kinds" . | fromYaml).kinds }}{{ $resources = append $resources .resource }}{{ end -}}
{{ toJson $resources }}
{{- end -}}

{{- define "mooring.rules.view" -}}
- apiGroups: [mooring.dev]
  resources: {{ include "mooring.resources" . }}
  verbs: [get, list, watch]
{{- range (include "mooring.kinds" . | fromYaml).kinds }}
{{- if .scalable }}
- apiGroups: [mooring.dev]
  resources: [{{ .resource }}/scale]
  verbs: [get]
{{- end }}
{{- end }}
{{- end -}}

{{- /* dict root, role (edit or admin). */ -}}
{{- define "mooring.rules.changes" -}}
{{- range (include "mooring.kinds" .root | fromYaml).kinds }}
{{- if eq (default "" .changedBy) $.role }}
- apiGroups: [mooring.dev]
  resources: [{{ .resource }}]
  verbs: [create, update, patch, delete, deletecollection]
{{- if .scalable }}
- apiGroups: [mooring.dev]
  resources: [{{ .resource }}/scale]
  verbs: [update, patch]
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "mooring.rules.edit" -}}
{{ include "mooring.rules.changes" (dict "root" . "role" "edit") }}
{{- end -}}

{{- define "mooring.rules.admin" -}}
{{ include "mooring.rules.changes" (dict "root" . "role" "admin") }}
# Verbs that the admission policies ask for: spec.managementPolicy Observe, spec.adoption.mode Override.
- apiGroups: [mooring.dev]
  resources: [gpuendpoints]
  verbs: [observe, override]
{{- end -}}

{{- /* Binding an endpoint through a ClusterAccount: the verbs of all the admission policies. */ -}}
{{- define "mooring.rules.adopter" -}}
- apiGroups: [mooring.dev]
  resources: [clusteraccounts]
  verbs: [adopt]
- apiGroups: [mooring.dev]
  resources: [gpuendpoints]
  verbs: [observe, override]
{{- end -}}

{{- /* `mooring cleanup`, for the moment of an uninstall. */ -}}
{{- define "mooring.rules.cleanup.cluster" -}}
- apiGroups: [mooring.dev]
  resources: {{ include "mooring.resources" . }}
  verbs: [list, patch]
{{- end -}}

{{- define "mooring.rules.cleanup.installation" -}}
- apiGroups: [apps]
  resources: [deployments/scale]
  resourceNames: [{{ include "mooring.fullname" . }}]
  verbs: [patch]
{{ include "mooring.rules.leases" . }}
{{- end -}}

{{- /* `mooring apply` of ClusterAccount default, after an install or upgrade. A name cannot limit `create`. */ -}}
{{- define "mooring.rules.account" -}}
- apiGroups: [mooring.dev]
  resources: [clusteraccounts]
  verbs: [create]
- apiGroups: [mooring.dev]
  resources: [clusteraccounts]
  resourceNames: [default]
  verbs: [patch]
{{- end -}}
