-- Tests of health.lua: `glua health_test.lua` in this folder (glua is the command of gopher-lua, the Lua of Argo CD).
-- `glua health_test.lua FILE` runs further cases: FILE returns a list of {name, obj, status}.

local failures, passed = 0, 0

-- Argo CD gives a script the object as `obj` and takes what it returns; of Lua's own functions only `ipairs` is needed.
local function healthOf(object)
  local script = assert(loadfile("health.lua"))
  setfenv(script, { obj = object, ipairs = ipairs })
  return script()
end

local function check(name, object, status, message)
  local health = healthOf(object)
  if health.status == status and type(health.message) == "string" and (message == nil or health.message == message) then
    passed = passed + 1
    print("ok - " .. name .. ": " .. status)
  else
    failures = failures + 1
    local expected = message == nil and status or status .. ", " .. message
    print("not ok - " .. name .. ": " .. tostring(health.status) .. ", " .. tostring(health.message) .. " instead of " .. expected)
  end
end

local function object(kind, generation, observed, ...)
  local status = { observedGeneration = observed, conditions = { ... } }
  return { apiVersion = "mooring.dev/v1alpha1", kind = kind, metadata = { name = "one", generation = generation }, status = status }
end

local function is(name, status, reason, message)
  return { type = name, status = status, reason = reason, message = message or "" }
end

-- What each kind is when it is as it should be, when it waits, and when a person must act.
local kinds = {
  GpuEndpoint = { good = "Serving", waits = "Creating", bad = "AppNameTaken" },
  SpeechJob = { good = "Completed", waits = "Queued", bad = "SubmissionUnknown" },
  VideoJob = { good = "Completed", waits = "Running", bad = "RemoteTaskFailed" },
  MediaBatch = { good = "Completed", waits = "Progressing", bad = "JobsHalted" },
  Account = { good = "Ready", waits = "Unreachable", bad = "Unauthorized" },
  ClusterAccount = { good = "Ready", waits = "Unreachable", bad = "SecretNotFound" },
  ArtifactStore = { good = "Ready", waits = "Unreachable", bad = "BucketNotFound" },
  BillReport = { good = "Reported", waits = "RateLimited", bad = "ExportTooLarge" },
}

for kind, reasons in pairs(kinds) do
  local ready = is("Ready", "True", reasons.good, "all well")
  check(kind .. " as it should be", object(kind, 3, 3, ready), "Healthy", "all well")
  check(kind .. " that nobody has looked at", object(kind, 1, nil, is("Ready", "Unknown", "Pending", "wait")), "Progressing", "wait")
  check(kind .. " whose spec was changed", object(kind, 4, 3, ready), "Progressing", "Waiting for the operator to see the change")
  check(
    kind .. " that waits",
    object(kind, 3, 3, is("Ready", "False", reasons.waits, "no"), is("Reconciling", "True", reasons.waits, "soon")),
    "Progressing",
    "soon"
  )
  check(kind .. " that is not ready and says no more", object(kind, 3, 3, is("Ready", "False", reasons.waits, "no")), "Progressing", "no")
  check(
    kind .. " that needs a person",
    object(kind, 3, 3, is("Ready", "False", reasons.bad, "do this"), is("Stalled", "True", reasons.bad, "do this")),
    "Degraded",
    "do this"
  )
end

for _, kind in ipairs({ "SpeechJob", "VideoJob" }) do
  local waits = is("Ready", "False", "Suspended", "resume it")
  check(kind .. " that is suspended", object(kind, 1, 1, waits, is("Suspended", "True", "Suspended", "held")), "Suspended", "held")
  check(
    kind .. " suspended too late",
    object(kind, 2, 2, is("Suspended", "False", "AlreadySubmitted"), is("Ready", "True", "Completed", "1 result")),
    "Healthy",
    "1 result"
  )
end

check("an object without a status", { metadata = { generation = 1 } }, "Progressing", "Waiting for the operator")
check("a status without conditions", { metadata = { generation = 1 }, status = {} }, "Progressing", "Waiting for the operator")

if arg ~= nil and arg[1] ~= nil then
  for _, case in ipairs(dofile(arg[1])) do
    check(case.name, case.obj, case.status)
  end
end

print(passed .. " passed, " .. failures .. " failed")
if failures > 0 then
  os.exit(1)
end
