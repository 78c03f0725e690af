import childProcess, { ChildProcess } from "node:child_process";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import { Server, Socket } from "node:net";

/** For unit tests: a socket, server or process that one opens is an error. */
function refuse(what: string): () => never {
  return () => {
    throw new Error(`a unit test opens ${what}: such a test belongs in test/component`);
  };
}

Socket.prototype.connect = refuse("a socket");
Server.prototype.listen = refuse("a server");
dgram.createSocket = refuse("a socket");
Object.assign(ChildProcess.prototype, { spawn: refuse("a process") });
Object.assign(childProcess, {
  spawnSync: refuse("a process"),
  execFileSync: refuse("a process"),
  execSync: refuse("a process"),
});
syncBuiltinESMExports();
