import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../process/support/model-server.ts";
import { eventually } from "./support/eventually.ts";
import type { Fault } from "./support/faults/fault.ts";
import { processFaults } from "./support/faults/processes.ts";
import { type ProbedPorts, probedFaults, serviceFaults } from "./support/faults/services.ts";
import { settingsFaults } from "./support/faults/settings.ts";
import { storageFaults } from "./support/faults/storage.ts";
import { fixesOf } from "./support/fixes.ts";
import { synced } from "./support/journal.ts";
import { withKernelClock } from "./support/kernel-clock.ts";
import { freePort } from "./support/plugin-peers.ts";
import { describeOnHost } from "./support/session.ts";

/** Where the bundles are written to be read, beside the table of them; only when asked for. */
const bundles = process.env["STEWARD_WRITE_BUNDLES"] === "1" ? join(import.meta.dirname, "bundles") : undefined;

/** Without what differs from run to run, and from machine to machine. */
const masked = (text: string): string =>
  text
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/^((?:data|advice) (?:begins|ends)) [0-9a-f]{16}$/gm, "$1 CODE")
    .replaceAll(/\[\d+\]/g, "[PID]")
    .replaceAll(/, kernel \S+/g, ", kernel VERSION")
    .replaceAll(/\d+ processors, memory [\d.]+ % used of [\d.]+ GiB/g, "N processors, memory N % used of N GiB")
    // The guest has the network of the machine.
    .replaceAll(/^(?:tcp|udp) .* no unit\n/gm, "");

/** The list of the bundles: a section that does not name the cause is said so. */
const tableOf = (rows: readonly (Fault & { readonly missing: readonly string[] })[]): string => {
  const named = rows.filter(({ missing }) => missing.length === 0).length;
  const lines = rows.map(({ name, what, check, cause, evidence, missing }) => {
    const where = Object.keys(evidence).map((title) => (missing.includes(title) ? `(not in) ${title}` : title));
    return `| [${name}](${name}.txt) | ${what} | \`${check}\` | ${cause} | ${where.join("; ")} |`;
  });
  return [
    "# Bundles of provoked faults",
    "",
    "Each file is what a model is sent to explain a check, after [its instructions](instructions.txt), word for word but for times, process ids and the size of the machine. The faults are",
    "provoked on a booted Debian by [diagnosis.long.test.ts](../diagnosis.long.test.ts), which fails where the bundle does not name the cause.",
    "`STEWARD_WRITE_BUNDLES=1 npm run test:all -- diagnosis` writes these files again.",
    "",
    `In ${named} of ${rows.length} the bundle names the cause.`,
    "",
    "| bundle | what happens | check | cause | sections that name it |",
    "| --- | --- | --- | --- | --- |",
    ...lines,
    "",
  ].join("\n");
};

const sectionsOf = (data: string): ReadonlyMap<string, string> =>
  new Map(
    data.split(/^## /m).map((section) => {
      const [title = "", ...lines] = section.split("\n");
      return [title, lines.join("\n")];
    }),
  );

describeOnHost("the evidence of an explanation", (session) => {
  let model: ModelServer;
  let ports: ProbedPorts;
  const faults = [
    ...serviceFaults,
    ...probedFaults(() => ports),
    ...storageFaults,
    ...processFaults,
    ...settingsFaults,
  ];

  const shownFaults: (Fault & { readonly missing: readonly string[] })[] = [];

  beforeAll(async () => {
    model = await startModelServer({ words: ["Its cause is in [L1]."] });
    ports = { front: await freePort(), till: await freePort() };
    const listen = (port: number) => `127.0.0.1:${port}`;
    await fixesOf(session).configure([
      `connectors: { discover: false, list: [{ name: scripted, provider: openai-compatible, model: ${model.model}, base_url: "${model.url}" }] }`,
      `probes: { list: [{ name: front, tcp: "${listen(ports.front)}" }, { name: till, tcp: "${listen(ports.till)}" }] }`,
      "health:",
      "  checks:",
      // The machine has more of these than a test should take.
      "    memory: { warn: 1, fail: 2 }",
      "    cpu_load: { warn: 1, fail: 2 }",
      "    journal_size: { warn: 0.01, fail: 0.02 }",
      "    backup_age: { targets: [{ name: shop, unit: shop-backup.service }] }",
    ]);
  });
  afterAll(async () => {
    if (bundles !== undefined) writeFileSync(join(bundles, "README.md"), tableOf(shownFaults));
    await model.close();
  });

  /** What the model got. */
  const explained = async (check: string): Promise<readonly string[]> => {
    const answer = await session.api.explainCheck({ params: { check_id: check }, query: {}, body: {} });
    if (!("explanation" in answer)) throw new Error("a plan was given where an explanation was asked for");
    const request = JSON.parse(model.received().at(-1)?.split("\n").at(-1) ?? "") as {
      messages: { content: string }[];
    };
    return request.messages.map(({ content }) => content);
  };

  it.each(faults)("names the cause when $what ($name)", async (fault) => {
    const { name, check, found, evidence, provoke, repair } = fault;
    const shown = async (): Promise<void> => {
      await provoke(session);
      await eventually(async () => {
        const { status, message } = await session.api.getCheck({ params: { check_id: check } });
        expect([status, message]).toEqual([expect.stringMatching(/^(?:warn|fail)$/), expect.stringMatching(found)]);
      });
      await synced(session);
      const [instructions = "", text = ""] = await explained(check);
      if (bundles !== undefined) {
        mkdirSync(bundles, { recursive: true });
        writeFileSync(join(bundles, "instructions.txt"), `${instructions}\n`);
        writeFileSync(join(bundles, `${name}.txt`), `${masked(text)}\n`);
      }
      const sections = sectionsOf(text);
      const missing = Object.entries(evidence).flatMap(([title, words]) =>
        words.test(sections.get(title) ?? "") ? [] : [title],
      );
      shownFaults.push({ ...fault, missing });
      expect(missing, text).toEqual([]);
    };
    try {
      if (check === "time_sync")
        await withKernelClock(async ({ believe }) => {
          await believe(false);
          await shown();
        });
      else await shown();
    } finally {
      await repair(session);
      // The next bundle has other checks as they are then.
      await session.api.getCheck({ params: { check_id: check } });
    }
  });
});
