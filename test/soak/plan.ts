// How long the soak may take, and where its chance begins. `npm run test:soak -- --minutes 2` is the short
// form.

/** minutes for everything together */
export const minutes = Number(process.env.SOAK_MINUTES ?? 10);
if (!(minutes >= 1)) throw new Error(`SOAK_MINUTES is ${minutes}; wanted a number from 1`);

export const seed = Number(process.env.SOAK_SEED ?? 20_260_731);

/** Milliseconds that a part gets of the whole time. */
export function shareOfTime(share: number): number {
  return Math.round(minutes * 60_000 * share);
}
