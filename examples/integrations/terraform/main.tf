# A GpuEndpoint in Terraform. The CRDs must exist at the plan, so install Mooring in another configuration.
resource "kubernetes_manifest" "chat" {
  manifest = {
    apiVersion = "mooring.dev/v1alpha1"
    kind       = "GpuEndpoint"
    metadata = {
      name      = "chat"
      namespace = "default"
    }
    spec = {
      products    = [{ id = "gpu-4090-24g" }]
      image       = "registry.example.com/models/chat:2.3"
      port        = 8000
      workers = {
        min                   = 0
        max                   = 3
        idleTimeoutSeconds    = 300
        maxConcurrency        = 8
        gpus                  = 1
        requestTimeoutSeconds = 600
      }
      policy      = { type = "queue", value = 15 }
      healthCheck = { path = "/v1/health" }
    }
  }

  # An autoscaler may own this field.
  computed_fields = ["metadata.labels", "metadata.annotations", "spec.workers.min"]

  wait {
    condition {
      type   = "Ready"
      status = "True"
    }
  }

  timeouts {
    create = "15m"
  }
}
