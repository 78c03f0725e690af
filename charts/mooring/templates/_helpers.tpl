{{- define "mooring.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "mooring.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "mooring.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Cluster-scoped objects carry the namespace too: two releases of one name do not collide. */ -}}
{{- define "mooring.clusterName" -}}
{{- $name := include "mooring.fullname" . -}}
{{- if eq $name .Release.Namespace -}}{{ $name }}{{- else -}}{{ printf "%s-%s" .Release.Namespace $name }}{{- end -}}
{{- end -}}

{{- define "mooring.selector" -}}
app.kubernetes.io/name: {{ include "mooring.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Labels of an object: dict root, component. */ -}}
{{- define "mooring.labels" -}}
{{ include "mooring.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: mooring
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "mooring.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "mooring.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "mooring.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- /* What every pod of the chart has in common: pull secrets, security, scheduling. */ -}}
{{- define "mooring.podCommon" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
{{- $security := deepCopy .Values.podSecurityContext }}
{{- /* A volume belongs to root unless the pod names a group. OpenShift chooses the group, and refuses another one. */}}
{{- if and .Values.artifacts.persistence.enabled (not (.Capabilities.APIVersions.Has "security.openshift.io/v1")) }}
{{- $security = merge $security (dict "fsGroup" 65532) }}
{{- end }}
{{- toYaml $security | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* ClusterAccount `default` as the values ask for it; empty when they do not. */ -}}
{{- define "mooring.defaultAccount" -}}
{{- $account := .Values.defaultAccount -}}
{{- if and .Values.simulator.enabled $account.enabled -}}
{{- fail "simulator.enabled and defaultAccount.enabled both make ClusterAccount default: set one of them to false; --set simulator.enabled=false uses the account" -}}
{{- end -}}
{{- if or .Values.simulator.enabled $account.enabled -}}
{{- $secret := printf "%s-account" (include "mooring.fullname" .) -}}
{{- $spec := dict -}}
{{- if $account.enabled -}}
{{- if not $account.baseURL -}}
{{- fail "defaultAccount.baseURL is empty: set it to the service's address, such as https://api.example.com" -}}
{{- end -}}
{{- if eq (empty $account.apiKey) (empty $account.existingSecret.name) -}}
{{- fail "defaultAccount needs one of apiKey and existingSecret.name: the key itself, or a Secret that has it" -}}
{{- end -}}
{{- $ref := dict "namespace" .Release.Namespace "name" $secret "key" "apiKey" -}}
{{- if $account.existingSecret.name -}}
{{- $ref = dict "namespace" (default .Release.Namespace $account.existingSecret.namespace) "name" $account.existingSecret.name "key" $account.existingSecret.key -}}
{{- end -}}
{{- $spec = merge (dict "baseURL" $account.baseURL "apiKeySecretRef" $ref) $account.spec -}}
{{- else -}}
{{- $url := printf "http://%s-simulator.%s.svc:8090" (include "mooring.fullname" .) .Release.Namespace -}}
{{- $ref := dict "namespace" .Release.Namespace "name" $secret "key" "apiKey" -}}
{{- /* The simulator serves its results inside the cluster. Loopback and link-local addresses stay closed. */ -}}
{{- $results := dict "allowedPrivateNetworks" (list "10.0.0.0/8" "172.16.0.0/12" "192.168.0.0/16") -}}
{{- $spec = merge (dict "baseURL" $url "apiKeySecretRef" $ref) $account.spec (dict "results" $results) -}}
{{- end -}}
apiVersion: mooring.dev/v1alpha1
kind: ClusterAccount
metadata:
  name: default
  labels:
{{- include "mooring.labels" (dict "root" . "component" "operator") | nindent 4 }}
spec:
{{- toYaml $spec | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* The port of a URL; by default that of its scheme. */}}
{{- define "mooring.portOf" -}}
{{- $url := urlParse . -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}
