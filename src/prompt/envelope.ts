// Takes off a text what a client put around the words of its user, such as the harness of a coding agent.
// Markers tell where it begins and ends. Nothing outside a pair of markers is taken.

/**
 * `block`: all from the start marker to the end marker is dropped. `wrapper`: only the two markers are
 * dropped. `message`: a message that begins with `start`, and ends with `end` if there is one, is dropped.
 */
export const envelopeKinds = ["block", "wrapper", "message"] as const;
export type EnvelopeKind = (typeof envelopeKinds)[number];

/** Whether envelopes are taken off a text. */
export const envelopeRules = ["strip", "keep"] as const;
export type EnvelopeRule = (typeof envelopeRules)[number];

export interface Envelope {
  /** the client that sends it, as answers and metrics name it */
  readonly client: string;
  readonly kind: EnvelopeKind;
  readonly start: string;
  /** null: any end will do; only for a message */
  readonly end: string | null;
  /** a second text that the message must contain, if the marker alone is too common */
  readonly beside?: string | undefined;
}

/** What was taken off a text, summed up by client and kind. */
export interface TakenEnvelope {
  readonly client: string;
  readonly kind: EnvelopeKind;
  readonly count: number;
  /** the characters that were taken, markers included; for wrappers only the markers */
  readonly characters: number;
}

export interface Unwrapped {
  readonly text: string;
  readonly taken: readonly TakenEnvelope[];
}

/** No agent sends a longer text. To search it would keep other requests waiting, so it is left as it is. */
const maxCharacters = 2 ** 20;
/** How deep wrappers may be nested. */
const maxRounds = 8;

/**
 * The text without its envelopes and without white space at its ends, or the text as it is if it has no
 * envelope. A start marker counts only at the start of a line and together with its end marker.
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

/** The sums for each client and kind. */
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

/** Takes the blocks from left to right. Markers inside a block belong to its content. */
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

/** The next place of the marker with only blanks before it in its line; `from` starts a line too. */
function startOfLine(text: string, marker: string, from: number): number {
  for (let at = text.indexOf(marker, from); at >= 0; at = text.indexOf(marker, at + 1)) {
    const before = afterBlanks(text, at, -1);
    if (before <= from || /[\n\r]/.test(text[before - 1]!)) return at;
  }
  return -1;
}

/** The place behind the end marker that belongs to the start marker at `start`; -1 if there is none. */
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

/** The place behind the blanks that begin at `at` and run in that direction. */
function afterBlanks(text: string, at: number, direction: 1 | -1): number {
  let place = at;
  const next = () => text[direction === 1 ? place : place - 1];
  while (next() === " " || next() === "\t") place += direction;
  return place;
}
