export interface UnitFileText {
  readonly description: string;
  /** What `systemctl enable` would find to do: something, only other units (`Also=`), or nothing. */
  readonly install: "links" | "also" | "none";
}

/** systemd.syntax(7): sections, `key=value`, comments, a backslash at the end continues the line. */
export function parseUnitFile(text: string): UnitFileText {
  let section = "";
  let description = "";
  let install: UnitFileText["install"] = "none";
  for (const line of text.replaceAll(/\\\r?\n(?:[#;].*\n)*/g, " ").split("\n")) {
    const header = /^\s*\[([^\]]+)\]\s*$/.exec(line);
    if (header !== null) {
      section = header[1] ?? "";
      continue;
    }
    const setting = section === "Unit" ? /^\s*Description\s*=\s*(.*?)\s*$/.exec(line) : null;
    if (setting !== null) description = setting[1] ?? "";
    if (section !== "Install") continue;
    if (/^\s*(WantedBy|RequiredBy|UpheldBy|Alias)\s*=\s*\S/.test(line)) install = "links";
    else if (install === "none" && /^\s*Also\s*=\s*\S/.test(line)) install = "also";
  }
  return { description, install };
}
