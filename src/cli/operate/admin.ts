import { registerCleanupCommand } from "./cleanup.ts";
import { registerConfirmRestoreCommand } from "./confirm-restore.ts";

/** The commands of a cluster administrator. One module, so that each start of the operator loads fewer files. */
export const ADMIN_COMMANDS = { cleanup: registerCleanupCommand, confirmRestore: registerConfirmRestoreCommand };
