"""A controller of GpuEndpoints as one writes it with kopf. It does what the other peers do: creates the remote endpoint, reads it and
writes the status. It has no journal. It reads again on events only: a timer of kopf would add a finalizer and write to the object.
"""

import argparse
import asyncio
import os
from datetime import datetime, timezone
from typing import Any

import aiohttp
import kopf

RESOURCE = ("mooring.dev", "v1alpha1", "gpuendpoints")
FINALIZER = "bench.example.com/f"
RETRY_SECONDS = 1
CONDITIONS = (
    {"type": "Synced", "status": "True", "reason": "InSync", "message": "The remote equals the spec"},
    {"type": "Ready", "status": "True", "reason": "Serving", "message": "The remote endpoint is running"},
)

parser = argparse.ArgumentParser()
parser.add_argument("--kubeconfig", required=True)
parser.add_argument("--base", default="http://127.0.0.1:18080")
parser.add_argument("--workers", type=int, default=64)
parser.add_argument("--finalizer", choices=("true", "false"), default="true")
flags = parser.parse_args()
use_finalizer = flags.finalizer == "true"


class Remote:
    """The remote service of the benchmark."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def create(self, endpoint: dict[str, Any]) -> str:
        path = "/gpu-instance/openapi/v1/endpoint/create"
        async with self.session.post(path, json={"endpoint": endpoint}) as response:
            return (await response.json())["id"]

    async def url(self, id: str) -> str:
        async with self.session.get(f"/gpus/v2/endpoints/{id}") as response:
            return (await response.json())["url"]


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    """Reads KUBECONFIG. Kopf has no other way without a client library."""
    return kopf.login_with_kubeconfig(**kwargs)


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.posting.enabled = False
    headers = {"Authorization": "Bearer k"}
    memo.session = aiohttp.ClientSession(flags.base, headers=headers, raise_for_status=True)
    memo.remote = Remote(memo.session)
    # Limits what runs at once. The limit of kopf itself counts workers that wait for the next event of their object too.
    memo.workers = asyncio.Semaphore(flags.workers)


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: Any) -> None:
    await memo.session.close()


@kopf.on.event(*RESOURCE)
async def reconcile(type: str | None, body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, **_: Any) -> None:
    """Kopf sends the patch when this ends. The memo is the object's own: it starts as a copy of the operator's."""
    if type == "DELETED":
        return
    finalizers = list(body.metadata.get("finalizers", []))
    if body.metadata.get("deletionTimestamp") is not None:
        if FINALIZER in finalizers:
            patch.metadata["finalizers"] = [one for one in finalizers if one != FINALIZER]
        return
    if use_finalizer and FINALIZER not in finalizers:
        # The event of this change does the rest.
        patch.metadata["finalizers"] = [*finalizers, FINALIZER]
        return
    status = dict(body.status)
    async with memo.workers:
        wanted = running_status(body, *await create_and_read(body, memo))
    if wanted != status:
        patch.status.update(wanted)


async def create_and_read(body: kopf.Body, memo: kopf.Memo) -> tuple[str, str]:
    """The ID and the URL. Kopf does not call a handler of events again, so this retries."""
    while True:
        try:
            # The event may be older than the status.
            id = body.status.get("endpointID") or memo.get("created")
            if id is None:
                id = memo.created = await memo.remote.create({"name": body.metadata["name"], **body.spec})
            return id, await memo.remote.url(id)
        except aiohttp.ClientError as error:
            print(f"{body.metadata['name']}: {error}", flush=True)
            await asyncio.sleep(RETRY_SECONDS)


def running_status(body: kopf.Body, id: str, url: str) -> dict[str, Any]:
    """The status of an endpoint that runs: as large as that of the other peers. What it has already stays."""
    name, uid, generation = (body.metadata[field] for field in ("name", "uid", "generation"))
    time = datetime.now(timezone.utc)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    milli = time.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    change = {f"{step}Time": milli for step in ("accepted", "observed", "ready", "sent", "synced")}
    present = {one["type"]: one for one in body.status.get("conditions", [])}

    def condition(wanted: dict[str, str]) -> dict[str, Any]:
        old = present.get(wanted["type"], {})
        transition = old["lastTransitionTime"] if old.get("status") == wanted["status"] else now
        return {**wanted, "observedGeneration": generation, "lastTransitionTime": transition}

    return {
        "account": {"baseURL": flags.base, "kind": "Account", "name": "default"},
        "appName": f"{name}-539110b65c",
        "appliedGeneration": generation,
        "createdAt": now,
        "image": "registry.example.com/models/echo:1.0",
        "lastAppliedTime": now,
        "lastChange": {"generation": generation, **change},
        "remote": {"status": "running"},
        "state": "running",
        "selector": f"mooring.dev/endpoint={uid}",
        "submission": {"attempt": 1, "id": uid, "specHash": "cfc674597ff16226", "state": "Accepted", "time": now},
        "type": "sync",
        "workers": {"draining": 0, "healthy": 0, "ready": 0, "total": 0},
        **body.status,
        "endpointID": id,
        "url": url,
        "observedGeneration": generation,
        "conditions": [condition(one) for one in CONDITIONS],
    }


os.environ["KUBECONFIG"] = flags.kubeconfig
kopf.configure(quiet=True)
kopf.run(standalone=True, clusterwide=True)
