import { expect, it } from "vitest";
import { createEndpointIndex } from "../../../../src/provider/endpoints/endpoint-index.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const record = recordOf(desiredOf(endpointOf()), { id: "", appName: "" });

it("a service that lists other endpoints each time does not fill the memory", () => {
  const clock = createFakeClock();
  const index = createEndpointIndex(clock);
  const perList = 10_000;
  const ids: string[] = [];
  for (let list = 0; list < 30; list++) {
    const listing = index.beginList();
    for (let i = 0; i < perList; i++) {
      const id = `${list}-${i}`;
      ids.push(id);
      listing.take({ ...record, id, appName: `app-${id}` }, clock.monotonic());
    }
    listing.end();
  }
  const absent = ids.filter((id) => index.missing(id));
  // Those that one list lacks still have a record.
  expect({ records: index.size(), absent: absent.length }).toEqual({ records: 2 * perList, absent: 2 * perList });
  expect(index.gone("0-0")).toBe(false);
});
