import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ifInReach, unitOfProcess } from "#adapters/exec/proc.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { ListeningSockets, SocketOwner } from "#domain/ports/network.ts";
import { listeningPorts, openPorts, socketsAt } from "./open-ports.ts";
import { hasGlobalIpv6, parsePortRange, parseSockets, states } from "./parse.ts";

/** Descriptors inspected between two turns of the event loop, and at most: about a millisecond, and a tenth of a second. */
const batchSize = 256;
const maxDescriptors = 50_000;

/** Undefined for a process that has just ended. */
function ownerOf(directory: string, pid: string): SocketOwner | undefined {
  const [name, status, cgroup] = ["comm", "status", "cgroup"].map((file) =>
    ifInReach(() => readFileSync(`${directory}/${file}`, "utf8")),
  );
  const program = name?.trim();
  if (!program) return undefined;
  const isMain = pid === "1" || /^PPid:\t1$/m.test(status ?? "");
  return { program, unit: unitOfProcess(cgroup ?? ""), isMain };
}

export function createListeningSockets(procDir = "/proc"): ListeningSockets {
  const read = async () => {
    const [tcp, tcp6, udp, udp6] = await Promise.all(["tcp", "tcp6", "udp", "udp6"].map(net));
    return {
      listening: parseSockets(`${tcp}${tcp6}`, states.listen),
      unconnected: parseSockets(`${udp}${udp6}`, states.close),
    };
  };
  const range = async () => parsePortRange(await readTextOrEmpty(join(procDir, "sys/net/ipv4/ip_local_port_range")));
  const net = (name: string): Promise<string> => readTextOrEmpty(join(procDir, "net", name));
  return {
    async open() {
      const [sockets, givenOut, addresses] = await Promise.all([read(), range(), net("if_inet6")]);
      return openPorts(sockets, { givenOut, hasGlobalIpv6: hasGlobalIpv6(addresses) });
    },
    listening: async () => listeningPorts(await read(), await range()),
    async owners(inodes) {
      const wanted = new Map(inodes.filter((inode) => inode !== 0).map((inode) => [`socket:[${inode}]`, inode]));
      const found = new Map<number, SocketOwner>();
      if (wanted.size === 0) return found;
      let looked = 0;
      for (const pid of readdirSync(procDir).filter((name) => /^\d+$/.test(name))) {
        // Not joined: of thousands of paths that is a third of the time.
        const directory = `${procDir}/${pid}`;
        for (const fd of ifInReach(() => readdirSync(`${directory}/fd`)) ?? []) {
          if (found.size === wanted.size || looked >= maxDescriptors) return found;
          looked += 1;
          if (looked % batchSize === 0) await nextTurn();
          const inode = wanted.get(ifInReach(() => readlinkSync(`${directory}/fd/${fd}`)) ?? "");
          if (inode === undefined || found.has(inode)) continue;
          const owner = ownerOf(directory, pid);
          if (owner !== undefined) found.set(inode, owner);
        }
      }
      return found;
    },
  };
}

/** Who listens at an address, for the one who cannot: `nginx (nginx.service)`. Only root sees the programs of other users. */
export async function describeListener(
  address: { readonly host: string; readonly port: number },
  procDir = "/proc",
): Promise<string> {
  const [socket] = await socketsAt(address, procDir);
  if (socket === undefined) return "another program";
  const owner = (await createListeningSockets(procDir).owners([socket.inode])).get(socket.inode);
  if (owner === undefined) return `a program of user ${socket.uid}`;
  return owner.unit === null ? owner.program : `${owner.program} (${owner.unit})`;
}
