import { readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { faultText, readManifest } from "#adapters/plugins/manifest.ts";
import { ManifestFile } from "#adapters/plugins/schema.ts";
import { isPlain } from "#adapters/plugins/trust.ts";
import { wordsOfSchema, yamlWords } from "../schema-words.ts";
import { expectThat, type FuzzTarget } from "../target.ts";

const project = join(import.meta.dirname, "../../..");
const directory = "/etc/steward/plugins/one";
/** What a terminal, or anyone who reads a line of it, would take for more than text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u;
const closed = ["/proc", "/sys", "/dev", "/run", "/var/run", "/tmp", "/var/tmp"];

export const target: FuzzTarget = {
  maxBytes: 16 * 1024,
  maxSteps: 20_000_000,
  dictionary: () => [
    ...wordsOfSchema(ManifestFile),
    ...yamlWords,
    ..."/srv/data /etc/../etc /proc/1 ../run 26h 64G #!/bin/sh".split(" "),
  ],
  seeds: () =>
    ["backup-age", "certificates", "chat-webhook"].map((name) =>
      readFileSync(join(project, "examples/plugins", name, "plugin.yaml")),
    ),
  open: () =>
    Promise.resolve({
      run(input) {
        const reading = readManifest(input.toString("utf8"), directory);
        if ("faults" in reading) {
          expectThat(reading.faults.length > 0, "it refuses the manifest and names no fault");
          for (const fault of reading.faults)
            expectThat(!unprintable.test(fault), `a fault that is not one printable line: ${JSON.stringify(fault)}`);
          expectThat(faultText(reading.faults).length < 8 * 1024, "the faults of one manifest are without end");
          return;
        }
        const { command, timeoutMs, permissions, role, ...texts } = reading.manifest;
        const { memoryBytes, tasks, read, write, user } = permissions;
        const [program] = command;
        expectThat(
          program.startsWith(`${directory}/`) && normalize(program) === program && isPlain(program),
          `it runs ${program}`,
        );
        expectThat(
          command.every((word) => !word.includes("\0")),
          "an argument has a NUL",
        );
        expectThat(timeoutMs >= 1000 && timeoutMs <= 3_600_000, `a time limit of ${timeoutMs} ms`);
        expectThat(memoryBytes >= 16 * 1024 ** 2 && memoryBytes <= 64 * 1024 ** 3, `${memoryBytes} bytes of memory`);
        expectThat(Number.isInteger(tasks) && tasks >= 1 && tasks <= 4096, `${tasks} tasks`);
        for (const path of [...read, ...write]) {
          expectThat(isPlain(path) && normalize(path) === path, `the path ${JSON.stringify(path)}`);
          expectThat(!closed.some((each) => path === each || path.startsWith(`${each}/`)), `the path ${path}`);
        }
        for (const path of user === "root" ? [] : write) {
          expectThat(
            !/^\/(etc|usr|boot|bin|sbin|lib\d*|root|opt)(\/|$)/.test(path),
            `it writes to ${path} without being root`,
          );
        }
        if (role.type === "check")
          expectThat((role.intervalMs ?? 1) <= 7 * 86_400_000, `an interval of ${role.intervalMs} ms`);
        for (const text of Object.values(texts))
          expectThat(!/[\p{Cc}\u2028\u2029]/u.test(text), `a text of ${JSON.stringify(text)}`);
      },
    }),
};
