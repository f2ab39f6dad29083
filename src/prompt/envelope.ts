// What a client puts around what its user typed: taken off by markers, so that the harness of a coding agent is not judged
// for the task. Takes nothing that stands outside of a pair of markers.

/**
 * `block`: dropped from the start marker to the end marker. `wrapper`: the markers are dropped, what they enclose is the
 * user's. `message`: a message that starts with the one, and ends with the other where there is one, is dropped whole.
 */
export const envelopeKinds = ["block", "wrapper", "message"] as const;
export type EnvelopeKind = (typeof envelopeKinds)[number];

/** Whether envelopes are taken off a text. */
export const envelopeRules = ["strip", "keep"] as const;

export interface Envelope {
  /** who sends it, as answers and metrics name it */
  readonly client: string;
  readonly kind: EnvelopeKind;
  readonly start: string;
  /** null: of a message whose end tells nothing */
  readonly end: string | null;
  /** a marker too plain to go by alone counts only in a message that has this too */
  readonly beside?: string | undefined;
}

/** What was taken off a text, by client and kind. */
export interface TakenEnvelope {
  readonly client: string;
  readonly kind: EnvelopeKind;
  readonly count: number;
  /** of all of them, markers included; of wrappers the markers alone */
  readonly characters: number;
}

export interface Unwrapped {
  readonly text: string;
  readonly taken: readonly TakenEnvelope[];
}

/** Longer texts are no agent's message, and are left as they are: looking through them would keep other requests waiting. */
const maxCharacters = 2 ** 20;
/** Envelopes inside of wrappers inside of … */
const maxRounds = 8;

/**
 * The text without its envelopes, and without the white space around what is left; unchanged where there is none. A start
 * marker counts at the start of a line, where clients put it, and only together with its end marker.
 */
export function unwrap(text: string, envelopes: readonly Envelope[]): Unwrapped {
  const taken: TakenEnvelope[] = [];
  if (text.length > maxCharacters) return { text, taken };
  const present = envelopes.filter(
    ({ start, beside }) => text.includes(start) && text.includes(beside ?? ""),
  );
  if (present.length === 0) return { text, taken };
  let left = text;
  for (let round = 0, before = -1; round < maxRounds && taken.length > before; round++) {
    before = taken.length;
    left = withoutMessage(left, present, taken);
    left = withoutBlocks(left, present, taken);
    left = withoutWrapper(left, present, taken);
  }
  return { text: taken.length === 0 ? text : left.trim(), taken: summed(taken) };
}

/** One entry for each client and kind. */
export function summed(taken: readonly TakenEnvelope[]): TakenEnvelope[] {
  const byName = new Map<string, TakenEnvelope>();
  for (const { client, kind, count, characters } of taken) {
    const name = JSON.stringify([client, kind]);
    const before = byName.get(name) ?? { count: 0, characters: 0 };
    byName.set(name, {
      client,
      kind,
      count: before.count + count,
      characters: before.characters + characters,
    });
  }
  return [...byName.values()];
}

function withoutMessage(text: string, envelopes: readonly Envelope[], taken: TakenEnvelope[]): string {
  const trimmed = text.trim();
  const found = envelopes.find(({ kind, start, end }) => {
    if (kind !== "message" || !trimmed.startsWith(start)) return false;
    return end === null || (trimmed.length >= start.length + end.length && trimmed.endsWith(end));
  });
  if (found === undefined) return text;
  taken.push({ client: found.client, kind: found.kind, count: 1, characters: text.length });
  return "";
}

/** From left to right, each block as a whole: markers that stand in one are its content. */
function withoutBlocks(text: string, envelopes: readonly Envelope[], taken: TakenEnvelope[]): string {
  let searches = envelopes
    .filter(({ kind }) => kind === "block")
    .map((envelope) => ({ envelope, at: startOfLine(text, envelope.start, 0) }));
  const kept: string[] = [];
  let from = 0;
  for (;;) {
    searches = searches.filter(({ at }) => at >= 0);
    if (searches.length === 0) return [...kept, text.slice(from)].join("");
    const first = searches.reduce((a, b) => (b.at < a.at ? b : a));
    const end = endOf(text, first.envelope, first.at);
    if (end < 0) {
      first.at = -1;
      continue;
    }
    taken.push({ client: first.envelope.client, kind: "block", count: 1, characters: end - first.at });
    kept.push(text.slice(from, afterBlanks(text, first.at, -1)));
    from = afterBlanks(text, end, 1);
    if (text[from] === "\n") from++;
    for (const search of searches) {
      if (search.at < end) search.at = startOfLine(text, search.envelope.start, end);
    }
  }
}

function withoutWrapper(text: string, envelopes: readonly Envelope[], taken: TakenEnvelope[]): string {
  const trimmed = text.trim();
  for (const { client, kind, start, end } of envelopes) {
    if (kind !== "wrapper" || end === null || !trimmed.startsWith(start)) continue;
    const close = trimmed.lastIndexOf(end);
    if (close < start.length) continue;
    taken.push({ client, kind, count: 1, characters: start.length + end.length });
    return `${trimmed.slice(start.length, close).trim()}\n${trimmed.slice(close + end.length).trim()}`;
  }
  return text;
}

/** Where the marker stands next with nothing but blanks before it in its line; `from` counts as the start of one. */
function startOfLine(text: string, marker: string, from: number): number {
  for (let at = text.indexOf(marker, from); at >= 0; at = text.indexOf(marker, at + 1)) {
    const before = afterBlanks(text, at, -1);
    if (before <= from || /[\n\r]/.test(text[before - 1]!)) return at;
  }
  return -1;
}

/** The place after the end marker that belongs to the start marker at `start`; -1 where the two do not balance. */
function endOf(text: string, envelope: Envelope, start: number): number {
  const end = envelope.end!;
  let at = start + envelope.start.length;
  let nested = startOfLine(text, envelope.start, at);
  for (let depth = 1; depth > 0; depth--) {
    const close = text.indexOf(end, at);
    if (close < 0) return -1;
    for (; nested >= 0 && nested < close; depth++) {
      nested = startOfLine(text, envelope.start, nested + envelope.start.length);
    }
    at = close + end.length;
  }
  return at;
}

/** The place behind the blanks at `at` in that direction. */
function afterBlanks(text: string, at: number, direction: 1 | -1): number {
  let place = at;
  const next = () => text[direction === 1 ? place : place - 1];
  while (next() === " " || next() === "\t") place += direction;
  return place;
}
