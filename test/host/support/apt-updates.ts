import { beforeAll, beforeEach, expect } from "vitest";
import { createClient } from "#client/index.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import type { RunningService } from "../service.ts";
import { eventually } from "./eventually.ts";
import { at, makePackageSources, type PackageRecipe, packageFile } from "./package-sources.ts";
import { freePort } from "./plugin-peers.ts";
import type { Session } from "./session.ts";

const old = ["editor", "library", "server"].map((name) => at(name, "1.0"));
const newer = [at("editor", "1.1"), at("library", "1.1", { place: "security" }), at("server", "1.1")];
/** Each takes its time, so that there is a time to come between. */
export const slowNames = ["slow-a", "slow-b", "slow-c"];
const slow = slowNames.flatMap((name) => [
  at(name, "1.0"),
  at(name, "1.1", { preinst: ["sleep 0.2"], postinst: ["sleep 0.2", `echo ${name} >> /srv/set-up`] }),
]);
/** Its new version is set up once `/srv/gate` is gone. */
const gated = [
  at("gated", "1.0"),
  at("gated", "1.1", { postinst: ["touch /srv/at-gate; while [ -e /srv/gate ]; do sleep 0.1; done"] }),
];
/** It has a configuration file. */
const configured = ["1.0", "1.1"].map((version) => at("configured", version, { config: `version = ${version}\n` }));
/** Its new version restarts the very service that installs it. */
const restarter = [at("restarter", "1.0"), at("restarter", "1.1", { postinst: ["systemctl restart steward.service"] })];
/** Its new version breaks a unit. */
const breaker = [
  at("breaker", "1.0"),
  at("breaker", "1.1", { postinst: ["touch /srv/broken; systemctl restart peer || true"] }),
];
/** With its new version, a security update, the daemon ends without a failure. The old one lets it run again, but does not start it. */
const patched = [
  at("patched", "1.0", { postinst: ["rm -f /srv/quit"] }),
  at("patched", "1.1", { place: "security", postinst: ["touch /srv/quit; systemctl restart answerer"] }),
];
/** Its new version does not fit on a small disk, which is found out after what it needs has been unpacked. */
const bulky = [
  at("bulky", "1.0"),
  at("bulky", "1.1", { control: ["Pre-Depends: editor (>= 1.1)"], payloadBytes: 4 * 2 ** 20 }),
];
const all = [...old, ...newer, ...slow, ...gated, ...configured, ...restarter, ...breaker, ...patched, ...bulky];

/** A service that installs updates behind snapshots of its own, with old versions of packages installed before each test. */
export function updatesOn(session: Session) {
  const { shell } = session;
  let service: RunningService;
  let answererPort = 0;
  const api = () => createClient({ url: service.url, key: service.adminKey });
  const versionsOf = async (names: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const text = await shell(`dpkg-query -W -f '\${Package} \${Version}\\n' ${names.join(" ")}`);
    return Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(" ")),
    );
  };
  const listing = () => shell("dpkg -l | sort");
  const etcTree = () =>
    shell(
      "cd /etc && find . -not -path ./steward -not -name '.pwd.lock' -printf '%p %y %m %U:%G %l ' -type f -exec sha256sum {} + -o -printf '\\n' | sort | sha256sum",
    );
  const install = (recipes: readonly PackageRecipe[]) =>
    shell(`dpkg --force-downgrade -i ${recipes.map(packageFile).join(" ")} >/dev/null 2>&1`);
  const oldOf = (names: readonly string[]) =>
    all.filter(({ name, version }) => names.includes(name) && version === "1.0");
  const newest = (): Promise<OperationEntry | undefined> =>
    api()
      .listOperations({ query: { limit: 1 } })
      .then(({ operations: [first] }) => first);
  const apply = (body: { security_only?: boolean; packages?: string[]; guard?: boolean }) =>
    api().applyUpdates({ body });

  /** Begins an operation without waiting for it. @returns its id. */
  const post = async (path: string, body: object, key?: string): Promise<string> => {
    const reply = await fetch(`${service.url}/api/v1/updates/${path}`, {
      method: "POST",
      headers: {
        "X-API-Key": service.adminKey,
        "Content-Type": "application/json",
        Prefer: "respond-async",
        ...(key !== undefined && { "Idempotency-Key": key }),
      },
      body: JSON.stringify(body),
    });
    expect(reply.status).toBe(202);
    const { id } = (await reply.json()) as OperationEntry;
    expect(reply.headers.get("location")).toBe(`/api/v1/operations/${id}`);
    return id;
  };
  const begin = (body: object, key?: string): Promise<string> => post("apply", body, key);
  const ended = (id: string, timeoutMs = 60_000): Promise<OperationEntry> =>
    eventually(async () => {
      const operation = await api().getOperation({ params: { id } });
      expect(["done", "failed"]).toContain(operation.status);
      return operation;
    }, timeoutMs);

  beforeAll(async () => {
    // A port that stays the same when the service is started again by others than the test.
    const listen = `127.0.0.1:${await freePort()}`;
    answererPort = await freePort();
    const env = { STEWARD_RATE_LIMITS: "off", STEWARD_LISTEN: listen };
    const config = `updates: { backend: packages, guard_minutes: 0.1 }
health: { checks: { who: { command: [/usr/local/bin/who-runs], guards_updates: true } } }
`;
    await session.host.writeFile(
      "/usr/local/bin/who-runs",
      "#!/bin/sh\nid -un >> /srv/who; id -Gn >> /srv/who\n",
      0o755,
    );
    await session.host.writeFile(
      "/srv/answerer.mjs",
      `import { createServer } from "node:http";
createServer((_, reply) => reply.end("here")).listen(${answererPort}, "127.0.0.1");
`,
    );
    service = await session.host.startService({ env, config });
    await makePackageSources(session, all);
    await session.writeUnits({
      "answerer.service": [
        "[Service]",
        "ExecStart=/bin/sh -c 'test -e /srv/quit || exec /opt/steward/node_modules/.bin/node /srv/answerer.mjs'",
      ],
      "peer.service": ["[Service]", "ExecStart=/bin/sh -c 'test ! -e /srv/broken && exec sleep infinity'"],
    });
  });
  beforeEach(async () => {
    await shell("rm -f /srv/broken; systemctl reset-failed; systemctl restart peer");
    await shell(
      `dpkg --purge --force-all ${[...slowNames, "configured", "restarter", "breaker", "patched"].join(" ")} >/dev/null 2>&1 || true`,
    );
    await install(old);
  });

  return {
    /** What the daemon that packages may break answers. */
    answer: () => fetch(`http://127.0.0.1:${answererPort}`).then((reply) => reply.text()),
    service: () => service,
    api,
    versionsOf,
    listing,
    etcTree,
    install,
    oldOf,
    newest,
    apply,
    post,
    begin,
    ended,
  };
}
