import { afterAll } from "vitest";
import { closeWorlds } from "./world.ts";

/** What a test file has left open ends with it: processes, simulators, namespaces, folders. */
afterAll(closeWorlds);
