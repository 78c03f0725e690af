{{- /*
A Job of the operator's image with rights of its own, gone when it has succeeded. dict: root, component, hook, and
clusterRules/rules (text of RBAC rules, the latter in the release's namespace), args, files (name to text; mounted at /etc/mooring).
*/ -}}
{{- define "mooring.hookJob" -}}
{{- $name := printf "%s-%s" (include "mooring.fullname" .root) .component -}}
{{- $clusterName := printf "%s-%s" (include "mooring.clusterName" .root) .component -}}
{{- $labels := include "mooring.labels" (dict "root" .root "component" .component) -}}
{{- $annotations := printf "helm.sh/hook: %s\nhelm.sh/hook-delete-policy: before-hook-creation,hook-succeeded" .hook -}}
{{- $subject := dict "kind" "ServiceAccount" "name" $name "namespace" .root.Release.Namespace -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
    helm.sh/hook-weight: "-10"
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $clusterName }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
    helm.sh/hook-weight: "-10"
rules:
{{ .clusterRules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $clusterName }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
    helm.sh/hook-weight: "-9"
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $clusterName }}
subjects:
  - {{- toYaml $subject | nindent 4 }}
{{- if .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
    helm.sh/hook-weight: "-10"
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
    helm.sh/hook-weight: "-9"
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
subjects:
  - {{- toYaml $subject | nindent 4 }}
{{- end }}
{{- if .files }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
    helm.sh/hook-weight: "-10"
data:
  {{- toYaml .files | nindent 2 }}
{{- end }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- $labels | nindent 4 }}
  annotations:
    {{- $annotations | nindent 4 }}
spec:
  backoffLimit: 2
  template:
    metadata:
      labels:
        {{- $labels | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      restartPolicy: Never
      {{- include "mooring.podCommon" .root | nindent 6 }}
      containers:
        - name: {{ .component }}
          image: {{ include "mooring.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          resources:
            {{- toYaml .root.Values.resources | nindent 12 }}
          securityContext:
            {{- toYaml .root.Values.securityContext | nindent 12 }}
          {{- if .files }}
          volumeMounts:
            - name: files
              mountPath: /etc/mooring
              readOnly: true
          {{- end }}
      {{- if .files }}
      volumes:
        - name: files
          configMap:
            name: {{ $name }}
      {{- end }}
{{- end -}}
