// Rows of sessions have long texts cut. Whoever decides or answers reads an ask whole: what is known whole stays so.
import type { OpenApproval, OpenQuestion, Session } from "./contract.ts";

type Asks = { approvals?: OpenApproval[]; questions?: OpenQuestion[] };

/** How many asks of a session are not known whole. */
export const cutAsks = ({ approvals = [], questions = [] }: Asks): number =>
  [...approvals, ...questions].filter((ask) => ask.cut).length;

/** A row with its asks whole, as far as they are known. An ask never changes, so its name is enough to find it. */
export function withWhole(row: Session, known: Asks | undefined): Session {
  if (!known || !cutAsks(row)) return row;
  const wholeOf = <T extends { cut?: boolean }>(ask: T, all: T[] | undefined, same: (other: T) => boolean): T =>
    (ask.cut && all?.find((other) => !other.cut && same(other))) || ask;
  return {
    ...row,
    approvals: row.approvals?.map((ask) => wholeOf(ask, known.approvals, (other) => other.approval === ask.approval)),
    questions: row.questions?.map((ask) => wholeOf(ask, known.questions, (other) => other.question === ask.question)),
  };
}
