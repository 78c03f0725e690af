import type { CoreAnswer, CoreRequest } from "../../../src/simulator/core.ts";
import type { SimulatedEndpoints } from "../../../src/simulator/endpoints.ts";
import { serialIn } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/**
 * Judges which endpoints exist at the service: at most one for each object among those that one key shows. (What the key
 * of another member created cannot be found with this one.)
 */
export type EndpointCensus = {
  accepted(request: CoreRequest, answer: CoreAnswer): void;
  /** Endpoints of an object, oldest first. */
  of(serial: number): ReturnType<SimulatedEndpoints["all"]>;
  /** Endpoints and the objects that they were created for. */
  all(): { serial: number; endpoint: ReturnType<SimulatedEndpoints["all"]>[number] }[];
};

export function createEndpointCensus(endpoints: SimulatedEndpoints, judge: Judge): EndpointCensus {
  const serials = new Map<string, number>();
  const all: EndpointCensus["all"] = () =>
    endpoints.all().flatMap((endpoint) => {
      const serial = serials.get(endpoint.id);
      return serial === undefined ? [] : [{ serial, endpoint }];
    });
  const of: EndpointCensus["of"] = (wanted) =>
    all()
      .filter(({ serial }) => serial === wanted)
      .map(({ endpoint }) => endpoint);
  return {
    accepted(request, { effect, id }) {
      if (effect !== "EndpointCreated" || id === undefined) return;
      const serial = serialIn(JSON.stringify(request.body));
      if (serial === undefined) return judge.violated("OneEndpoint", `endpoint ${id} is for no object`);
      serials.set(id, serial);
      const members = of(serial).map(({ memberID }) => memberID);
      const isRepeated = ({ memberID }: { memberID: string }) => members.filter((one) => one === memberID).length > 1;
      const ids = of(serial)
        .filter(isRepeated)
        .map((endpoint) => endpoint.id);
      if (ids.length > 1)
        judge.violated("OneEndpoint", `object ${serial} has ${ids.length} endpoints: ${ids.join(", ")}`);
      return undefined;
    },
    of,
    all,
  };
}
