import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { endpointPatch, patchEndpoint } from "../endpoint-patch.ts";
import { faultRule } from "../faults.ts";
import { identityOf } from "../keys.ts";
import type { Service } from "../service.ts";
import { taskStatus } from "../tasks.ts";

const auditQuery = z.object({ operation: z.string().optional(), since: z.coerce.number().int().optional() });

const chargeInput = z.strictObject({
  /** RFC 3339. */
  time: z.iso.datetime(),
  /** Index of the valid key. */
  key: z.int().min(0).default(0),
  productID: z.string().default("product-1"),
  productName: z.string(),
  category: z.string().default("gen_api"),
  usage: z.int().default(1),
  unitPrice: z.int().default(0),
  amount: z.int(),
  voucher: z.int().default(0),
  pricePrecision: z.int().min(1).optional(),
  llmSeries: z.string().optional(),
  multimodalPricing: z.record(z.string(), z.unknown()).optional(),
  tieredConfig: z.record(z.string(), z.unknown()).optional(),
});

/** Serves the control paths, with which tests and demos read the state and inject faults. They need no API key. */
export function controlRoutes(app: FastifyInstance, service: Service): void {
  const { audit, config, endpoints, faults, ledger, tasks } = service;

  app.get("/__health", () => ({ ok: true }));

  app.get("/__audit", (request) => audit.list(auditQuery.parse(request.query)));
  app.get("/__audit/counts", () => audit.counts());
  app.delete("/__audit", () => {
    audit.clear();
    return {};
  });

  app.get("/__faults", () => faults.list());
  app.post("/__faults", (request) => {
    const rules = z.array(faultRule).parse(Array.isArray(request.body) ? request.body : [request.body]);
    return { added: rules.map((rule) => faults.add(rule)) };
  });
  app.delete("/__faults", () => {
    faults.clear();
    return {};
  });

  app.get("/__config", () => config());
  app.post("/__config", (request) => service.configure(request.body));

  app.get("/__state", () => ({
    endpoints: endpoints.all(),
    tasks: tasks.all().map((task) => ({
      id: task.id,
      type: task.type,
      status: taskStatus(task, service.now(), config()),
      submittedAtMs: task.submittedAtMs,
      endsAtMs: task.endsAtMs,
      failure: task.failure,
    })),
    spent: ledger.total(),
  }));
  app.post<{ Params: { id: string } }>("/__state/endpoints/:id", (request, reply) => {
    const endpoint = endpoints.find(request.params.id);
    if (endpoint === undefined)
      return reply.code(404).send({ message: `endpoint ${request.params.id} does not exist` });
    return patchEndpoint(endpoints, endpoint, endpointPatch.parse(request.body));
  });
  app.post("/__state/charges", (request) => {
    const charges = z.array(chargeInput).parse(request.body);
    for (const { time, key, pricePrecision, llmSeries, multimodalPricing, tieredConfig, ...charge } of charges) {
      const given = Object.entries({ pricePrecision, llmSeries, multimodalPricing, tieredConfig });
      ledger.charge({
        ...charge,
        atMs: Date.parse(time),
        key: identityOf(config().apiKeys[key] ?? `key-${key}`, key),
        details: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
      });
    }
    return { added: charges.length };
  });
}
