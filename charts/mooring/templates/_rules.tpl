{{- /*
Every right of the operator, in one place. test/integration/chart-rbac.test.ts holds it to a list and runs an operator with
exactly these rights. A new kind is named in "objects", "view", "edit" or "admin", and "cleanup" below.
*/ -}}

{{- /* In each namespace that is served: everywhere, or in each of watchNamespaces. */ -}}
{{- define "mooring.rules.objects" -}}
# Our kinds are watched; `patch` puts the finalizer on.
- apiGroups: [mooring.dev]
  resources: [gpuendpoints, accounts]
  verbs: [list, watch, patch]
# A finished job is deleted when its ttlSecondsAfterFinished is over.
- apiGroups: [mooring.dev]
  resources: [speechjobs, videojobs]
  verbs: [list, watch, patch, delete]
- apiGroups: [mooring.dev]
  resources: [billreports, artifactstores]
  verbs: [list, watch]
- apiGroups: [mooring.dev]
  resources:
    - gpuendpoints/status
    - speechjobs/status
    - videojobs/status
    - accounts/status
    - billreports/status
    - artifactstores/status
  verbs: [patch]
# What specs refer to, by name: API keys, environment, texts. Never listed, never watched.
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [get]
{{- with .Values.rbac.exportTo }}
{{- if .configMaps }}
# spec.exportTo of endpoints and bill reports. Only what an object of ours owns is changed or deleted.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create, patch, delete]
{{- end }}
{{- if .secrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, patch, delete]
{{- end }}
{{- end }}
{{ include "mooring.rules.events" . }}
{{- end -}}

{{- define "mooring.rules.events" -}}
# `patch` counts up a series instead of making an event again.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{- /* What has no namespace. */ -}}
{{- define "mooring.rules.cluster" -}}
- apiGroups: [mooring.dev]
  resources: [clusteraccounts]
  verbs: [list, watch, patch]
- apiGroups: [mooring.dev]
  resources: [clusteraccounts/status]
  verbs: [patch]
# Labels for ClusterAccount.spec.allowedNamespaces, and the UID of kube-system, which names the cluster.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
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

{{- /* In the release's namespace: the lease and the submission journal. A name cannot limit `create`. */ -}}
{{- define "mooring.rules.leader" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [mooring-operator]
  verbs: [get, update]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [mooring-journal]
  verbs: [get, update]
{{- end -}}

{{- /* Namespaces in which a namespaced operator reads Secrets for ClusterAccounts only. */ -}}
{{- define "mooring.rules.secrets" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end -}}

{{- /*
People: what view, edit and admin see and change. Accounts carry keys and money, ArtifactStores may use the operator's own
identity: changing them is for admins.
*/ -}}
{{- define "mooring.rules.view" -}}
- apiGroups: [mooring.dev]
  resources: [gpuendpoints, speechjobs, videojobs, accounts, clusteraccounts, billreports, artifactstores]
  verbs: [get, list, watch]
- apiGroups: [mooring.dev]
  resources: [gpuendpoints/scale]
  verbs: [get]
{{- end -}}

{{- define "mooring.rules.edit" -}}
- apiGroups: [mooring.dev]
  resources: [gpuendpoints, speechjobs, videojobs, billreports]
  verbs: [create, update, patch, delete, deletecollection]
- apiGroups: [mooring.dev]
  resources: [gpuendpoints/scale]
  verbs: [update, patch]
{{- end -}}

{{- define "mooring.rules.admin" -}}
- apiGroups: [mooring.dev]
  resources: [accounts, artifactstores]
  verbs: [create, update, patch, delete, deletecollection]
# Verbs that the admission policies ask for: spec.managementPolicy Observe, spec.adoption.mode Override.
- apiGroups: [mooring.dev]
  resources: [gpuendpoints]
  verbs: [observe, override]
{{- end -}}

{{- /* `mooring cleanup`, for the moment of an uninstall. */ -}}
{{- define "mooring.rules.cleanup.cluster" -}}
- apiGroups: [mooring.dev]
  resources: [gpuendpoints, speechjobs, videojobs, accounts, clusteraccounts, billreports, artifactstores]
  verbs: [list, patch]
{{- end -}}

{{- define "mooring.rules.cleanup.leader" -}}
- apiGroups: [apps]
  resources: [deployments/scale]
  resourceNames: [{{ include "mooring.fullname" . }}]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [mooring-operator]
  verbs: [get, update, delete]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [mooring-journal]
  verbs: [get, delete]
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
