/** Tasks in an order in which they can run. */
import type { Schemas } from "../../api/client";

export function inOrder<T>(tasks: readonly T[], edges: readonly Schemas["WorkflowEdge"][], keyOf: (task: T) => string): T[] {
  const byKey = new Map(tasks.map((task) => [keyOf(task), task]));
  const waits = new Map(tasks.map((task) => [keyOf(task), 0]));
  const after = new Map<string, string[]>();
  for (const edge of edges) {
    const [source, target] = [String(edge.source), String(edge.target)];
    if (!byKey.has(source) || !byKey.has(target)) continue;
    waits.set(target, waits.get(target)! + 1);
    after.set(source, [...(after.get(source) ?? []), target]);
  }
  const ready = [...waits].filter(([, count]) => count === 0).map(([key]) => key);
  for (let place = 0; place < ready.length; place += 1) {
    for (const next of after.get(ready[place]!) ?? []) {
      waits.set(next, waits.get(next)! - 1);
      if (waits.get(next) === 0) ready.push(next);
    }
  }
  return ready.map((key) => byKey.get(key)!);
}
