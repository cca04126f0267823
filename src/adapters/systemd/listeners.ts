import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { unitOfControlGroup } from "#adapters/exec/proc.ts";
import { type Listener, type Listeners, NetworkUnavailable } from "#domain/ports/network-state.ts";
import { isNotFound } from "#kernel/errors.ts";
import { firstLine } from "#kernel/text.ts";
import { groupNumbers, parseListening } from "./examination.ts";

const timeoutMs = 10_000;
/** Of a hundred thousand sockets. */
const maxOutputBytes = 16 * 1024 * 1024;
/** Of the whole host. */
const mostGroups = 5_000;
const unreachable = "unreachable:";

const byPort = (a: Listener, b: Listener): number =>
  a.port - b.port || (a.protocol + a.address < b.protocol + b.address ? -1 : 1);

/** Several sockets of a unit at one port, as a server with workers has them, are one listener. */
const unique = (listeners: readonly Listener[]): readonly Listener[] => [
  ...new Map(listeners.map((each) => [JSON.stringify(each), each])).values(),
];

/** Listening sockets by `ss`, to which the kernel reports the control group of each also without rights. */
export function createListeners(ports: {
  readonly exec: Exec;
  readonly groups?: () => ReadonlyMap<string, string>;
}): Listeners {
  const { exec, groups = () => groupNumbers("/", mostGroups) } = ports;
  return {
    async list(signal) {
      const ended = await exec(["ss", "-H", "-ltun", "--cgroup"], { signal, timeoutMs, maxOutputBytes }).catch(
        (error: unknown) => {
          if (!(error instanceof CommandFailed)) throw error;
          const isMissing = isNotFound(error.cause);
          const message = isMissing ? "ss is not installed (package iproute2)" : error.message;
          throw new NetworkUnavailable(message, { missing: "ss", retryable: !isMissing }, error);
        },
      );
      const { exitCode, stdout, stderr, truncated } = ended;
      if (exitCode !== 0 || truncated) {
        const reason = truncated ? "its output is too long" : firstLine(stderr) || `exit code ${exitCode}`;
        throw new NetworkUnavailable(`ss does not list sockets: ${reason}`, { missing: "ss", retryable: true });
      }
      const sockets = parseListening(stdout);
      const paths = sockets.some(({ group }) => group.startsWith(unreachable)) ? groups() : new Map<string, string>();
      const pathOf = (group: string): string =>
        group.startsWith(unreachable) ? (paths.get(group.slice(unreachable.length)) ?? "") : group;
      const listeners = sockets.map(({ protocol, address, port, group }) => {
        return { protocol, address, port, unit: unitOfControlGroup(pathOf(group)) };
      });
      return unique(listeners).toSorted(byPort);
    },
  };
}
