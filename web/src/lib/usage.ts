// Usage by day, agent and project, summed for charts.
import type { DayUsage } from "./contract.ts";

export type Measure = "tokens" | "cost";
export type Part = { name: string; value: number };
export type Bar = { day: string; total: number; parts: Part[] };

export const valueOf = (row: DayUsage, measure: Measure): number =>
  measure === "cost" ? (row.cost ?? 0) : row.input + row.output;

/** One bar per day, also for days on which nothing happened; the parts in one order throughout. */
export function bars(rows: DayUsage[], measure: Measure, days: number, today: string): Bar[] {
  const names = totals(rows, measure, (row) => row.agent).map((part) => part.name);
  return lastDays(days, today).map((day) => {
    const parts = names
      .map((name) => ({
        name,
        value: rows
          .filter((row) => row.day === day && row.agent === name)
          .reduce((sum, row) => sum + valueOf(row, measure), 0),
      }))
      .filter((part) => part.value > 0);
    return { day, total: parts.reduce((sum, part) => sum + part.value, 0), parts };
  });
}

/** Largest first. */
export function totals(rows: DayUsage[], measure: Measure, by: (row: DayUsage) => string): Part[] {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(by(row), (sums.get(by(row)) ?? 0) + valueOf(row, measure));
  return [...sums]
    .map(([name, value]) => ({ name, value }))
    .filter((part) => part.value > 0)
    .sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));
}

function lastDays(many: number, today: string): string[] {
  const end = Date.parse(`${today}T00:00:00Z`);
  return Array.from({ length: many }, (_, at) =>
    new Date(end - (many - 1 - at) * 86_400_000).toISOString().slice(0, 10),
  );
}

/** A round figure at or above the largest, for the scale. */
export function ceiling(largest: number): number {
  if (largest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= largest) as number;
}

/** Which days have their names below the chart: always the first and the last, the others evenly between them. */
export function tickDays(many: number, fit: number): Set<number> {
  const count = Math.min(many, Math.max(2, fit));
  return new Set(
    Array.from({ length: count }, (_, at) => (count === 1 ? 0 : Math.round((at * (many - 1)) / (count - 1)))),
  );
}
