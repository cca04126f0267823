export interface OutputLine {
  readonly bytes: Buffer;
  /** Whether the line was longer than the bound: `bytes` is then its start, and the rest was dropped. */
  readonly isCut: boolean;
}

const newline = 0x0a;

export function createLineSplitter(maxLineBytes: number) {
  let parts: Buffer[] = [];
  let held = 0;
  let isCut = false;

  const hold = (part: Buffer): void => {
    const space = maxLineBytes - held;
    if (part.length > space) isCut = true;
    if (space <= 0 || part.length === 0) return;
    const kept = part.subarray(0, space);
    parts.push(kept);
    held += kept.length;
  };

  const take = (): OutputLine => {
    const [only] = parts;
    const line = { bytes: parts.length === 1 && only !== undefined ? only : Buffer.concat(parts, held), isCut };
    parts = [];
    held = 0;
    isCut = false;
    return line;
  };

  return {
    push(chunk: Buffer): readonly OutputLine[] {
      const lines: OutputLine[] = [];
      let from = 0;
      for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
        hold(chunk.subarray(from, to));
        lines.push(take());
        from = to + 1;
      }
      if (from < chunk.length) hold(chunk.subarray(from));
      return lines;
    },
    end: (): readonly OutputLine[] => (held > 0 || isCut ? [take()] : []),
  };
}
