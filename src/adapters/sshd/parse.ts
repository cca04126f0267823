/** `sshd -T`: a line for each option, its name in lower case. */
export function parseSshdOptions(text: string): Readonly<Record<string, string>> {
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, value = ""] = /^([a-z0-9]+)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
    if (name === undefined) continue;
    const before = options.get(name);
    options.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return Object.fromEntries(options);
}

/** Why sshd ended: the first line that it said, which names the file and the line. */
export function parseSshdRefusal(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "") ?? "it gives no reason";
}
