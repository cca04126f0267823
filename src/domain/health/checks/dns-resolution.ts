import type { NameServers } from "#domain/ports/network.ts";
import { listNames } from "#kernel/text.ts";
import { asIsolated, type BuiltInCheck, createIgnore, skip } from "../check.ts";

export const dnsResolutionCheck = ({ servers, name = "." }: { servers: NameServers; name?: string }): BuiltInCheck => ({
  id: "dns_resolution",
  name: "Name resolution",
  category: "network",
  severity: "medium",
  about:
    "Whether each name server of resolv.conf answers. By default the question is for the servers of the root zone, " +
    "which reveals nothing and which every recursive resolver knows. With `isolated: true` it is skipped where " +
    "none answers. `ignore` takes addresses of servers.",
  meaning: "A name server of this host does not answer: names resolve slowly, or not at all.",
  remedy: "Check the server and the network path to it, and correct /etc/resolv.conf or what writes it.",
  guardedBy: "change",
  async run({ ignore, isIsolated = false }, signal) {
    const isIgnored = createIgnore(ignore);
    const listed = (await servers.list()).filter((server) => !isIgnored(server));
    if (listed.length === 0) return skip("No name server is configured on this host");
    const asked = await Promise.all(
      listed.map(async (server) => ({ server, answer: await servers.ask(server, name, signal) })),
    );
    const silent = asked.flatMap(({ server, answer }) => (answer.isAnswered ? [] : [`${server} (${answer.code})`]));
    const details = {
      name,
      servers: asked.map(({ server, answer }) => ({
        address: server,
        answered: answer.isAnswered,
        duration_ms: Math.round(answer.durationMs),
        ...(!answer.isAnswered && { code: answer.code }),
      })),
    };
    if (silent.length === 0) return { status: "pass", message: "Every name server answers", details };
    if (silent.length === asked.length && isIsolated)
      return { ...skip(`No name server answers, ${asIsolated}`), details };
    if (silent.length === asked.length)
      return { status: "fail", message: `Names cannot be resolved: no answer from ${listNames(silent)}`, details };
    return {
      status: "warn",
      message: `Name resolution is slow or may stop: no answer from ${listNames(silent)}, others answer`,
      details,
    };
  },
});
