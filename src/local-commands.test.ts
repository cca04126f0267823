import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { Settings } from "#config/settings.ts";
import { filesOfSettings, unreadableFiles } from "./local-commands.ts";

const nobody = { uid: 65_534, gid: 65_534 };
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-readable-"));
  chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true }));

describe("the files named in settings", () => {
  it("are found anywhere", () => {
    const settings = {
      tls: { cert: "/c", key: "/k", client_ca: "/ca" },
      connectors: { list: [{ name: "a", provider: "openai", model: "m", api_key_file: "/a" }] },
      notifications: {
        chat: { webhook_url_file: "/w" },
        paging: { email: { password_file: "/p" } },
        webhook: { headers: [{ name: "A", value_file: "/h" }] },
      },
      state_dir: "/var/lib/steward",
    } as never;
    expect(filesOfSettings(settings).map(({ path, file }) => [path.join("."), file])).toEqual([
      ["tls.cert", "/c"],
      ["tls.key", "/k"],
      ["tls.client_ca", "/ca"],
      ["connectors.list.0.api_key_file", "/a"],
      ["notifications.chat.webhook_url_file", "/w"],
      ["notifications.paging.email.password_file", "/p"],
      ["notifications.webhook.headers.0.value_file", "/h"],
    ]);
    expect(filesOfSettings({ tls: "auto" })).toEqual([]);
  });

  it("include every file of the schema", () => {
    const named: string[] = [];
    const walk = (schema: unknown): void => {
      if (typeof schema !== "object" || schema === null) return;
      for (const [name, value] of Object.entries(schema)) {
        const isText = typeof value === "object" && value !== null && "type" in value && value.type === "string";
        const { description = "" } = isText ? (value as { description?: string }) : {};
        if (isText && /\bPEM\b|^File that holds/.test(description)) named.push(name);
        walk(value);
      }
    };
    walk(Settings);
    expect(named.length).toBeGreaterThan(5);
    for (const name of new Set(named)) {
      const settings = (name.endsWith("_file") ? { any: { [name]: "/f" } } : { tls: { [name]: "/f" } }) as never;
      expect([name, filesOfSettings(settings)]).toMatchObject([name, [{ file: "/f" }]]);
    }
  });
});

describe.skipIf(process.getuid?.() !== 0)("files that a user cannot read (only root can look as another user)", () => {
  it("are found by trying, also in closed directories", async () => {
    mkdirSync(join(directory, "closed"), { mode: 0o700 });
    for (const [name, mode, uid] of [
      ["open", 0o644, 0],
      ["own", 0o600, nobody.uid],
      ["secret", 0o600, 0],
      ["closed/open", 0o644, 0],
    ] as const) {
      writeFileSync(join(directory, name), "x");
      chmodSync(join(directory, name), mode);
      chownSync(join(directory, name), uid, uid);
    }
    const list = ["open", "own", "secret", "closed/open", "missing"].map((name) => ({
      api_key_file: join(directory, name),
    }));
    const found = await unreadableFiles({ connectors: { list } } as never, { exec, ...nobody });
    expect(found.map(({ file }) => file.slice(directory.length + 1))).toEqual(["secret", "closed/open", "missing"]);
  });
});
