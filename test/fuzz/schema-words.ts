/** Names, allowed values, defaults and examples that a JSON schema mentions: the words of anyone who writes such a value. */
export function wordsOfSchema(schema: unknown): readonly string[] {
  const words = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === "string" && value.length <= 64) words.add(value);
    if (typeof value === "number" || typeof value === "boolean") words.add(String(value));
  };
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "description") continue;
      if (key === "properties" && typeof value === "object" && value !== null)
        for (const name of Object.keys(value)) add(name);
      if (["enum", "const", "default", "examples", "minimum", "maximum"].includes(key))
        for (const each of [value].flat()) add(each);
      visit(value);
    }
  };
  visit(schema);
  return [...words];
}

/** Words of YAML that a parser has to do something about. */
export const yamlWords: readonly string[] = [
  ..."{ } [ ] *a \" ' ~ null true .inf .nan 0x7f 0o17 1_000 \\u0000 \\x1b \u001b[31m \ufeff".split(" "),
  ..."__proto__ constructor toString 🙂 \u2028 \u202e".split(" "),
  ...[
    ": ",
    "\n- ",
    "\n  ",
    ", ",
    "&a ",
    "<<: *a",
    "# ",
    "\n---\n",
    "\n...\n",
    "%YAML 1.1\n",
    "? ",
    "\r\n",
    "\t",
    "|\n  ",
    ">-\n  ",
  ],
  ...["!!binary ", "!!set ", "!!timestamp ", "!!int ", "!custom "],
];
