import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { notificationKinds } from "#contract/alerts.ts";
import { withCaptureServer } from "./support/capture-server.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-kinds-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sourceOf = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** A process with the outbox on the store of the folder: posts these kinds, lives for a while, and is killed. */
async function runAndKill(kinds: readonly string[], until: "posted" | "sent"): Promise<void> {
  const program = `
    const [stateDir, kinds, until] = process.argv.slice(1);
    const { openAlertStore } = await import(${sourceOf("adapters/alert-store/index.ts")});
    const { createHttpNotifier, httpService } = await import(${sourceOf("adapters/notifier/index.ts")});
    const { createOutbox } = await import(${sourceOf("domain/notifications/outbox.ts")});
    const { systemClock } = await import(${sourceOf("adapters/clock/index.ts")});
    const onTrouble = (error) => { throw error; };
    const target = { service: "webhook", urlFile: stateDir + "/url", headers: [] };
    const outbox = createOutbox({
      store: openAlertStore({ stateDir, onTrouble }).notifications,
      channels: new Map([["webhook", createHttpNotifier({ service: httpService(target, "web1") })]]),
      clock: systemClock, createId: () => crypto.randomUUID(), host: "web1", onEnd: () => {}, onTrouble,
    });
    outbox.start();
    for (const kind of JSON.parse(kinds))
      outbox.post({ kind, subject: kind + ".1", at: Date.now(), isGood: false, title: kind, facts: [] }, ["webhook"]);
    if (until === "sent")
      while (outbox.list().some(({ outcome }) => outcome === "queued")) await new Promise((wake) => setTimeout(wake, 10));
    process.kill(process.pid, "SIGKILL");`;
  const argv = [process.execPath, "--input-type=module", "-e", program, folder, JSON.stringify(kinds), until] as const;
  await expect(exec(argv, { timeoutMs: 240_000 })).rejects.toThrow("killed by SIGKILL");
}

describe("notifications", () => {
  it("of each kind arrive once, whether the service is killed before or after they are sent", async () => {
    await withCaptureServer(
      (_, response) => void response.writeHead(204).end(),
      async ({ url, requests }) => {
        writeFileSync(join(folder, "url"), `${url}/told`, { mode: 0o600 });
        const told = () => requests.map(({ body }) => (body as { readonly kind: string }).kind).toSorted();
        const kinds = [...notificationKinds].toSorted();
        await runAndKill(kinds, "posted");
        expect(told()).toEqual([]);
        await runAndKill([], "sent");
        expect(told()).toEqual(kinds);
        await runAndKill([], "sent");
        expect(told()).toEqual(kinds);
      },
    );
  });
});
