import { describe, expect, it } from "vitest";
import type { PluginConfirmation, PluginReport } from "#cli/index.ts";
import { complaint, printed, refusal, runInProcess } from "./cli-run.ts";

interface Surroundings {
  readonly report?: (directory: string) => Promise<PluginReport>;
  /** What a person types when asked; undefined: nobody is there. */
  readonly answer?: string;
  /** Root's list; undefined: this is not root. */
  readonly confirmation?: PluginConfirmation;
}

/** There is no service: what asks one fails. */
const steward = (argv: readonly string[], { report, answer, confirmation }: Surroundings = {}) =>
  runInProcess(argv, {
    ...(answer !== undefined && { answers: [answer] }),
    local: {
      ...(report && { checkPlugin: report }),
      pluginConfirmation: () =>
        confirmation === undefined ? Promise.reject(new Error("only root can")) : Promise.resolve(confirmation),
    },
  });

describe("steward plugins validate", () => {
  const report = (rest: Partial<PluginReport>) => (path: string) => Promise.resolve({ path, faults: [], ...rest });
  const faults = [{ text: "/x/plugin.yaml:3:7: type: must be one of command, check, hook" }, { text: "/x/a\nb: link" }];
  const found = { name: "certs", version: "1.0.0", type: "command", permissions: ["reads /srv"] } as const;

  it("prints every fault and ends with 1", async () => {
    expect(await steward(["plugins", "validate", "/x"], { report: report({ faults }) })).toEqual({
      code: 1,
      out: "/x/plugin.yaml:3:7: type: must be one of command, check, hook\n/x/a b: link\n",
      err: "",
    });
    const json = await steward(["plugins", "validate", "/x", "--json"], { report: report({ faults }) });
    expect([json.code, JSON.parse(json.out)]).toEqual([1, { path: "/x", faults }]);
  });

  it("prints a valid plugin, and ends with 0", async () => {
    expect(await steward(["plugins", "validate"], { report: report({ plugin: found }) })).toEqual(
      printed("certs 1.0.0 (command): no fault\npermissions beyond its sandbox: reads /srv\n"),
    );
    const modest = report({ plugin: { ...found, permissions: [] } });
    expect((await steward(["plugins", "validate"], { report: modest })).out).toContain(
      "permissions beyond its sandbox: none\n",
    );
    const json = await steward(["plugins", "validate", "--json"], { report: report({ plugin: found }) });
    expect(JSON.parse(json.out)).toEqual({ path: process.cwd(), faults: [], plugin: found });
  });

  it("ends with 2 when the directory cannot be read", async () => {
    const missing = () => Promise.reject(new Error("cannot read /x: no such directory"));
    expect(await steward(["plugins", "validate", "/x"], { report: missing })).toEqual(
      complaint("steward: cannot read /x: no such directory\n"),
    );
  });
});

describe("steward plugins confirm", () => {
  const found = {
    name: "certs",
    version: "1.0.0",
    path: "/etc/steward/plugins/certs",
    digest: "ab".repeat(32),
    permissions: ["runs as root", "changes /srv"],
    needsRoot: true,
    isConfirmed: false,
  };
  function listOf(rest: Partial<typeof found> = {}) {
    const confirmed: string[] = [];
    const confirmation: PluginConfirmation = {
      list: () => [{ ...found, confirmedAt: Date.parse("2026-01-02T03:04:05Z") }],
      find: (name) =>
        name === "certs"
          ? Promise.resolve({ ...found, ...rest })
          : Promise.reject(new Error(`cannot confirm ${name}: no plugin directory has such a plugin`)),
      confirm: ({ digest }) => void confirmed.push(digest),
      revoke: (name) => (name === "certs" ? [found.path] : []),
    };
    return { confirmation, confirmed };
  }

  it("shows what would run as root, and confirms it after a yes", async () => {
    const { confirmation, confirmed } = listOf();
    const no = await steward(["plugins", "confirm", "certs"], { confirmation, answer: "n" });
    expect([no.code, confirmed]).toEqual([1, []]);
    // Standard output is not a terminal, so that anyone who is asked sees it on the other.
    expect(no.err).toMatch(
      /certs 1\.0\.0 in \/etc\/steward\/plugins\/certs\n {2}digest (ab){32}\n.*runs as root, changes \/srv/,
    );
    const yes = await steward(["plugins", "confirm", "certs"], { confirmation, answer: "y" });
    expect([yes.code, confirmed]).toEqual([0, [found.digest]]);
    expect(yes.out).toContain("it may run as root as it is now (to enable it: steward plugins enable certs --confirm)");
    const json = await steward(["plugins", "confirm", "certs", "--yes", "--json"], { confirmation });
    expect([json.code, JSON.parse(json.out), confirmed.length]).toMatchObject([0, { name: "certs", changed: true }, 2]);
  });

  it("does not ask where there is nothing to confirm, and fails without a terminal", async () => {
    const done = listOf({ isConfirmed: true });
    expect(await steward(["plugins", "confirm", "certs"], done)).toMatchObject({
      code: 0,
      out: "certs: it is confirmed already\n",
    });
    const plain = listOf({ needsRoot: false });
    expect(await steward(["plugins", "confirm", "certs"], plain)).toMatchObject({
      code: 0,
      out: expect.stringContaining("does not ask to run as root"),
    });
    expect(await steward(["plugins", "confirm", "certs"], listOf())).toMatchObject({
      ...refusal("nobody at a terminal"),
      out: expect.any(String),
    });
    expect([...done.confirmed, ...plain.confirmed]).toEqual([]);
  });

  it("lists and revokes confirmations", async () => {
    const { confirmation } = listOf();
    const list = await steward(["plugins", "confirm"], { confirmation });
    expect(list.out).toMatch(/certs +1\.0\.0 +2026-01-0\d \S+ +\/etc\/steward\/plugins\/certs +abababababab/);
    expect(await steward(["plugins", "confirm", "certs", "--revoke"], { confirmation })).toMatchObject({
      code: 0,
      out: "certs: /etc/steward/plugins/certs may no longer run as root\n",
    });
    expect(await steward(["plugins", "confirm", "other", "--revoke"], { confirmation })).toMatchObject({ code: 1 });
    expect(await steward(["plugins", "confirm", "--revoke"], { confirmation })).toMatchObject({ code: 2 });
  });

  it("is for root", async () => {
    expect(await steward(["plugins", "confirm", "certs", "--yes"])).toMatchObject({
      code: 2,
      err: "steward: only root can\n",
    });
  });
});
