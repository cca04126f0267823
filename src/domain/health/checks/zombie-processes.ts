import type { HostFacts, Zombie } from "#domain/ports/host.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, thresholdsFor } from "../check.ts";
import { createGrader, inUnit } from "../grading.ts";

const maxListed = 100;

/** Parents by number of zombies: restarting a parent ends them. */
function countByParent(zombies: readonly Zombie[]) {
  const children = Map.groupBy(zombies, ({ parentPid }) => parentPid);
  return [...children]
    .map(([pid, own]) => ({ pid, name: own[0]?.parentName ?? "", zombies: own.length }))
    .sort((a, b) => b.zombies - a.zombies);
}

const limits = { warn: 5, fail: 20 };

export const zombieProcessesCheck = (ports: { facts: Pick<HostFacts, "zombies"> }): BuiltInCheck => ({
  id: "zombie_processes",
  name: "Zombie processes",
  category: "processes",
  severity: "low",
  thresholds: limits,
  about:
    "Processes that have ended and whose parent does not wait for them. `ignore` takes names of the process or its " +
    "parent.",
  meaning: "A program does not reap its child processes: each keeps its process id until the parent ends.",
  remedy: "Restart the parent that the message names, and report the bug to its developers.",
  async run(settings) {
    const all = await ports.facts.zombies();
    const zombies = all.filter(
      ({ name, parentName }) => ![name, parentName].some((each) => settings.ignore.includes(each)),
    );
    const parents = countByParent(zombies);
    const names = listNames(parents.map(({ name, pid }) => `${name} (${pid})`));
    const count = counted(zombies.length, "zombie process", "zombie processes");
    const thresholds = thresholdsFor(limits, settings);
    const grader = createGrader(settings, inUnit("processes"));
    return grader.finish({
      status: grader.grade(zombies.length, thresholds),
      message: zombies.length === 0 ? "There are no zombie processes" : `${count}, left behind by ${names}`,
      details: {
        count: zombies.length,
        parents: parents.slice(0, maxListed),
        processes: zombies
          .slice(0, maxListed)
          .map(({ pid, name, parentPid }) => ({ pid, name, parent_pid: parentPid })),
      },
      thresholds: { count: thresholds },
    });
  },
});
