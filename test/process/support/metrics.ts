/** One sample line of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function parseMetrics(text: string): readonly Sample[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, name = "", labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const pairs = labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
    return {
      name,
      labels: Object.fromEntries([...pairs].map(([, label, text]) => [label, text])) as Record<string, string>,
      value: Number(value),
    };
  });
}
