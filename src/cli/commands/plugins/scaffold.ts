import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type PluginType, pluginNamePattern } from "#contract/plugins.ts";
import { errnoCode, errorMessage } from "#kernel/errors.ts";

const templates = fileURLToPath(new URL("plugin-templates", import.meta.url));

interface Language {
  readonly exec: (type: PluginType) => string;
  readonly test: (type: PluginType) => string;
  readonly runTest: string;
  readonly memory: string;
}

const files = {
  sh: { exec: (type) => `${type}.sh`, test: () => "test.sh", runTest: "sh test.sh", memory: "64M" },
  // Without -B its cache would be a change in the folder.
  python: {
    exec: (type) => `${type}.py`,
    test: (type) => `test_${type}.py`,
    runTest: "python3 -B -m unittest",
    memory: "128M",
  },
  // Node reserves much memory that it never uses, which counts on hosts that cannot measure the memory of a unit.
  node: { exec: (type) => `${type}.mjs`, test: (type) => `${type}.test.mjs`, runTest: "node --test", memory: "1G" },
} as const satisfies Record<string, Language>;

export type PluginLanguage = keyof typeof files;
const isLanguage = (name: string): name is PluginLanguage => Object.hasOwn(files, name);

export const pluginLanguages: readonly PluginLanguage[] = Object.keys(files).filter(isLanguage);

interface NewPlugin {
  readonly name: string;
  readonly type: PluginType;
  readonly language: PluginLanguage;
  readonly author: string;
  readonly parent: string;
}

function wordsOf({ name, type, language, author }: NewPlugin): Readonly<Record<string, string>> {
  const { exec, test, runTest, memory } = files[language];
  return {
    name,
    label: name.toUpperCase().replaceAll("-", "_"),
    // Within quotes, which for YAML are those of JSON.
    author: JSON.stringify(author).slice(1, -1),
    exec: exec(type),
    test: test(type),
    run_test: runTest,
    memory,
  };
}

const filled = (template: string, words: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (whole, word: string) => words[word] ?? whole);

const textsOf = (folder: string): readonly (readonly [name: string, template: string])[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => [name, readFileSync(join(folder, name), "utf8")]);

function describeFailure(error: unknown): string {
  const code = errnoCode(error);
  if (code === "EEXIST") return "it is there already";
  if (code === "ENOENT") return "there is no folder to make it in";
  return errorMessage(error);
}

/** Modes as the service requires them, whatever the umask: it loads nothing that others could write to. */
function writeText(path: string, text: string): void {
  writeFileSync(path, text, { flag: "wx" });
  chmodSync(path, text.startsWith("#!") ? 0o755 : 0o644);
}

/**
 * Makes a plugin that works, with its test. `runTest` is the command that runs it, in the returned directory.
 * @throws Error when it cannot be made, or something is there; nothing of it is left then.
 */
export function makePlugin(plugin: NewPlugin): { path: string; files: readonly string[]; runTest: string } {
  const { name, type, language, parent } = plugin;
  if (!new RegExp(pluginNamePattern).test(name)) {
    throw new Error(
      `cannot name a plugin ${JSON.stringify(name)}: lower case letters, digits, _ and -, 64 at most, and no sign first`,
    );
  }
  const words = wordsOf(plugin);
  const texts = [join(templates, type), join(templates, type, language)].flatMap(textsOf);
  const path = join(parent, name);
  try {
    mkdirSync(path);
  } catch (error) {
    throw new Error(`cannot make ${path}: ${describeFailure(error)}`, { cause: error });
  }
  try {
    chmodSync(path, 0o755);
    for (const [file, template] of texts) writeText(join(path, file), filled(template, words));
  } catch (error) {
    rmSync(path, { recursive: true, force: true });
    throw new Error(`cannot make ${path}: ${describeFailure(error)}`, { cause: error });
  }
  return { path, files: texts.map(([file]) => file).sort(), runTest: words["run_test"] ?? "" };
}
