import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pinnedNode } from "../../scripts/package/node.ts";
import { installProgram } from "../../scripts/package/tree.ts";
import { compare, type Row, type Subject } from "../row.ts";
import { freePort, startPeer, startServer } from "../servers.ts";
import { type Workspace, withWorkspace } from "../workspace.ts";

const startTime: Subject = {
  work: "start to first answer, the program of the package",
  peer: "bare Fastify 5",
  unit: "ms",
  judged: "ours/peer",
  goal: { is: "at most", value: 2 },
};

/** Loads what the scripts of the package load, so that compiled code is kept as they keep it. */
async function keepCompiledCode(workspace: Workspace, directory: string, cache: string): Promise<void> {
  const { ended } = workspace.start([join(directory, "node"), join(directory, "program/compile.js")], {
    NODE_COMPILE_CACHE: cache,
  });
  await ended;
}

export const startPackage: Row = {
  name: "start-package",
  summary: "time to start of the packaged program against bare Fastify",
  measure: (options) =>
    withWorkspace(async (workspace) => {
      await installProgram(workspace.directory, { version: "0.0.0", epochSeconds: 0, node: pinnedNode() });
      const directory = join(workspace.directory, "usr/lib/steward");
      const cache = join(workspace.directory, "code");
      mkdirSync(cache);
      await keepCompiledCode(workspace, directory, cache);
      const ours = async (): Promise<number> => {
        const port = await freePort();
        const server = await startServer(workspace, {
          argv: [join(directory, "node"), join(directory, "program/program.js"), "serve"],
          env: {
            NODE_COMPILE_CACHE: cache,
            STEWARD_LISTEN: `127.0.0.1:${port}`,
            STEWARD_STATE_DIR: join(workspace.directory, "state"),
          },
          port,
          path: "/livez",
        });
        await server.stop();
        return server.startMs;
      };
      const peer = async (): Promise<number> => {
        const server = await startPeer(workspace, "bareFastify");
        await server.stop();
        return server.startMs;
      };
      return [await compare(startTime, { ours, peer }, options)];
    }),
};
