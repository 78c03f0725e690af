-- Health of every kind of mooring.dev for Argo CD, by the conditions that `kubectl wait`, Flux and Helm read too (kstatus).
local status = obj.status or {}

local function condition(name)
  for _, one in ipairs(status.conditions or {}) do
    if one.type == name then
      return one
    end
  end
  return {}
end

local function health(name, from)
  return { status = name, message = from.message or "Waiting for the operator" }
end

-- The operator has not looked at this version of the spec yet.
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", { message = "Waiting for the operator to see the change" })
end
if condition("Reconciling").status == "True" then
  return health("Progressing", condition("Reconciling"))
end
-- A person must act; a failed job is Stalled too.
if condition("Stalled").status == "True" then
  return health("Degraded", condition("Stalled"))
end
-- A job that spec.suspend holds back.
if condition("Suspended").status == "True" then
  return health("Suspended", condition("Suspended"))
end
if condition("Ready").status == "True" then
  return health("Healthy", condition("Ready"))
end
return health("Progressing", condition("Ready"))
