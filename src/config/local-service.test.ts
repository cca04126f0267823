import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { loadConfig } from "./load.ts";
import { readLocalSettings } from "./local-service.ts";

const directory = mkdtempSync(join(tmpdir(), "steward-settings-"));
afterAll(() => rmSync(directory, { recursive: true }));

const file = join(directory, "config.yaml");
const builtInCheckIds: readonly string[] = [];
const given = (text: string, environment: Readonly<Record<string, string>> = {}) => {
  writeFileSync(file, text);
  return { HOME: "/home/ann", STEWARD_CONFIG: file, ...environment };
};

it.each([
  ["", {}],
  ["# nothing\n", {}],
  ["listen: 127.0.0.1:9000\n", {}],
  ['listen: "[::1]:9000"\nstate_dir: /srv/steward\n', {}],
  ["listen: 0.0.0.0:9000\ntls: auto\n", {}],
  ["tls: { cert: /a.pem, key: /b.pem }\n", {}],
  ["tls: off\nlog: { level: debug }\n", {}],
  ["listen: 127.0.0.1:9000\n", { STEWARD_LISTEN: "127.0.0.1:1", STEWARD_STATE_DIR: "/elsewhere" }],
  ["", { XDG_STATE_HOME: "/state" }],
] as const)("local settings of %j with %j are those of the service itself", (text, rest) => {
  const environment = given(text, rest);
  for (const isRoot of [true, false]) {
    const { listen, stateDir, tls } = loadConfig({ file: undefined, environment, isRoot, builtInCheckIds });
    expect(readLocalSettings(environment, isRoot)).toEqual({
      listen,
      stateDir,
      tls: typeof tls === "object" ? "given" : tls,
    });
  }
});

it.each(["listen: 9000\n", "listen: nonsense\n", "state_dir: 3\n", "tls: maybe\n", "- a\n", "{", "a: b: c\n"])(
  "local settings of the invalid %j are left to the service",
  (text) => {
    const environment = given(text);
    expect(readLocalSettings(environment, true)).toBeUndefined();
    expect(() => loadConfig({ file: undefined, environment, isRoot: true, builtInCheckIds })).toThrow();
  },
);

it("local settings in an unreadable file are left to the service", () => {
  expect(readLocalSettings({ STEWARD_CONFIG: "/nowhere/config.yaml" }, true)).toBeUndefined();
});
