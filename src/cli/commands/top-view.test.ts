import { expect, it } from "vitest";
import { textWidth } from "../output/text.ts";
import { type TopState, topLines, topRows } from "./top-view.ts";

const process = {
  ...{ pid: 42, ppid: 1, name: "nginx", user: "www-data", unit: "nginx.service", state: "sleeping" as const },
  ...{ start_time: "2026-01-01T00:00:00.000Z", threads: 1, cpu_percent: 12.34, memory_bytes: 5_242_880, io: null },
  ...{ command: `nginx: worker\u001b[31m ${"x".repeat(300)}`, is_kernel_thread: false },
};
const unit = (name: string | null, processes = 3) => ({
  ...{ unit: name, processes, threads: 4, cpu_percent: 150, memory_bytes: 1_048_576 },
});
const list = (units: readonly ReturnType<typeof unit>[]): NonNullable<TopState["list"]> => ({
  ...{ processes: [], total: 178, units: [...units], sampled_at: "2026-01-01T12:34:56.000Z" },
  ...{ cpu_seconds: 2, is_complete: true, notes: [] },
});
const state = (changes: Partial<TopState> = {}): TopState => ({
  ...{ list: list([unit("nginx.service"), unit("日本語.service"), unit(null)]), sort: "cpu", chosen: 0 },
  ...{ open: new Map([["nginx.service", [process]]]), fault: undefined, ...changes },
});

it("steward top fills screens of every size, and no more", () => {
  const many = state({ list: list(Array.from({ length: 300 }, (_, at) => unit(`unit-${at}.service`))), chosen: 299 });
  for (const given of [state(), many, state({ list: undefined }), state({ fault: "no\nservice" })]) {
    for (const columns of [1, 20, 40, 80, 200]) {
      for (const rows of [1, 4, 5, 24, 60]) {
        const lines = topLines(given, { columns, rows });
        expect(lines.length).toBeLessThanOrEqual(rows);
        if (rows >= 5) expect(lines).toHaveLength(rows);
        for (const { text } of lines) {
          expect(textWidth(text)).toBeLessThanOrEqual(Math.max(columns, 40));
          if (columns >= 40) expect(textWidth(text)).toBeLessThanOrEqual(columns);
          expect(text).not.toMatch(/\p{Cc}/u);
        }
      }
    }
  }
});

it("steward top lists units, processes below open ones, and keeps the selected row visible", () => {
  const texts = topLines(state({ chosen: 1 }), { columns: 80, rows: 24 }).map(({ text }) => text);
  expect(texts[0]).toBe("12:34:56 UTC  178 processes  3 units  cpu 450.0 % of one, over 2.0 s");
  expect(texts[2]).toMatch(/^ ▾ nginx\.service +3 +150\.0 +1\.0 MiB$/);
  expect(texts[3]).toMatch(/^> {9}42 www-data {2}nginx: worker.*… +12\.3 +5\.0 MiB$/);
  expect(texts[4]).toMatch(/^ ▸ 日本語\.service/);
  expect(topRows(state()).map(({ unit: name }) => name)).toEqual([
    ...["nginx.service", "nginx.service", "日本語.service", null],
  ]);
  const many = state({ list: list(Array.from({ length: 300 }, (_, at) => unit(`unit-${at}.service`))), chosen: 299 });
  expect(topLines(many, { columns: 80, rows: 24 }).some(({ text }) => text.startsWith(">▸ unit-299"))).toBe(true);
});
