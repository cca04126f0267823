import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { SettingsFaulty } from "#config/faults.ts";
import { type Config, loadConfig } from "#config/load.ts";
import { Settings } from "#config/settings.ts";
import { reservedCheckIds } from "#domain/health/registry.ts";
import { wordsOfSchema, yamlWords } from "../schema-words.ts";
import { expectThat, type FuzzTarget } from "../target.ts";

const project = join(import.meta.dirname, "../../..");
/** The example of the documentation, which shows every part of the file. */
const documented = (): string =>
  /```yaml\n(.*?)```/s.exec(readFileSync(join(project, "docs/settings.md"), "utf8"))?.[1] ?? "";

export const target: FuzzTarget = {
  maxBytes: 16 * 1024,
  maxSteps: 20_000_000,
  dictionary: () => [
    ...wordsOfSchema(Settings),
    ...yamlWords,
    ..."127.0.0.1:8470 [::1]:0 10.0.0.0/8 16MiB 5m 1h".split(" "),
  ],
  seeds: () =>
    [documented(), readFileSync(join(project, "deploy/debian/config.yaml"), "utf8"), ""].map((text) =>
      Buffer.from(text),
    ),
  open() {
    const directory = mkdtempSync(join(tmpdir(), "settings-"));
    const file = join(directory, "config.yaml");
    const load = (content: Buffer | string): Config | SettingsFaulty => {
      writeFileSync(file, content);
      try {
        return loadConfig({ file, environment: {}, isRoot: true, builtInCheckIds: reservedCheckIds });
      } catch (error) {
        if (error instanceof SettingsFaulty) return error;
        throw error;
      }
    };
    return Promise.resolve({
      run(input) {
        const config = load(input);
        if (config instanceof SettingsFaulty) {
          const lines = input.toString("utf8").split(/\r\n|\r|\n/).length;
          expectThat(config.faults.length > 0, "it refuses the settings and names no fault");
          for (const { source, line = 0, column = 0, message } of config.faults) {
            expectThat(source === file, `a fault names ${source} instead of the file`);
            expectThat(
              line >= 1 && line <= lines && column >= 1,
              `a fault at ${line}:${column} of ${lines} lines: ${message}`,
            );
          }
          return;
        }
        const again = load(stringify(config.settings));
        expectThat(
          !(again instanceof SettingsFaulty),
          `what was accepted is refused when it is written out: ${again instanceof SettingsFaulty ? again.message : ""}`,
        );
        expectThat(
          isDeepStrictEqual(again.settings, config.settings),
          "what was accepted is something else when it is written out",
        );
      },
      close: () => rmSync(directory, { recursive: true, force: true }),
    });
  },
};
