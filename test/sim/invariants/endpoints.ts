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

/** @param untraced requests for an object of which no trace may be left (tampering.ts) */
export function createEndpointCensus(
  endpoints: SimulatedEndpoints,
  judge: Judge,
  untraced: (serial: number) => number,
): EndpointCensus {
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
      const created = endpoints.get(id);
      const lost = untraced(serial);
      const same = all().filter(({ endpoint: { memberID, parameters } }) => {
        return memberID === created.memberID && parameters.appName === created.parameters.appName;
      });
      const own = of(serial).filter(({ memberID }) => memberID === created.memberID);
      const report = (what: string, ids: string[]) => {
        if (ids.length > 1 + lost) {
          judge.violated("OneEndpoint", `${what} has ${ids.length} endpoints: ${ids.join(", ")}`);
        }
      };
      report(
        `object ${serial}`,
        own.map((one) => one.id),
      );
      report(
        `app name ${created.parameters.appName}`,
        same.map(({ endpoint }) => endpoint.id),
      );
      return undefined;
    },
    of,
    all,
  };
}
