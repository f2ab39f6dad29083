// Reads the bytes of a request's body: bounded in size and time, and together with all other bodies.
import type { IncomingMessage } from "node:http";
import { JudgeError } from "../../errors.js";
import { newestRequest, uploadBroken, uploadFault } from "../connection/connection.js";
import type { BodyBudget } from "./budget.js";

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** counted from the start of reading: the whole body must be in by then */
  readonly requestTimeoutMs: number;
  /** of all large bodies together; absent: no bound */
  readonly budget?: BodyBudget;
}

/** A body may wait so many times as long as it may take: the wait is not its client's fault. */
const roomWaits = 10;

/** How long a body may take in all. */
export function maxUploadMs(requestTimeoutMs: number): number {
  return (roomWaits + 1) * requestTimeoutMs;
}

/** Bodies up to this size are read at once, so that a router's requests never wait behind large ones. */
const alwaysReadBytes = 64 * 2 ** 10;

/** glibc gives freed blocks of this size back to the system; it may keep smaller ones (M_MMAP_THRESHOLD). */
const givenBackBytes = 33 * 2 ** 20;
/** A body of this size is worth such a block, of which only what is written takes memory. */
const worthwhileBytes = 4 * 2 ** 20;

/**
 * @throws JudgeError `body_too_large` after the upload has been drained, `request_timeout`, `overloaded`,
 *   `client_gone`, or what its upload broke off with
 */
export async function readUpload(incoming: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { maxBodyBytes } = limits;
  const { "content-length": length } = incoming.headers;
  if (length === undefined) return await collect(incoming, limits, null);
  const size = Number(length);
  if (size > maxBodyBytes) return await collect(incoming, limits, Buffer.alloc(0));
  if (size > alwaysReadBytes) await roomFor(incoming, size, limits);
  return await collect(incoming, limits, allocate(size));
}

/**
 * Reads a body into one buffer. What is past the limit is read too, so that its client sees the answer.
 * @param declared a buffer of the size that the headers tell; null: they do not tell it
 */
function collect(incoming: IncomingMessage, limits: BodyLimits, declared: Buffer | null): Promise<Buffer> {
  const { maxBodyBytes, requestTimeoutMs } = limits;
  return new Promise((resolve, reject) => {
    let whole = declared ?? Buffer.allocUnsafeSlow(Math.min(alwaysReadBytes, maxBodyBytes));
    let size = 0;
    /** whether a chunk is in hand and waits for room */
    let isWaiting = false;
    let timer: NodeJS.Timeout | undefined;
    const fail = (error: unknown) => {
      clearTimeout(timer);
      reject(error);
    };
    const flow = () => {
      timer = setTimeout(() => fail(tooSlow()), requestTimeoutMs);
      incoming.resume();
    };
    const finish = () => {
      if (isWaiting) return;
      clearTimeout(timer);
      if (size <= maxBodyBytes) return resolve(whole.subarray(0, size));
      reject(
        new JudgeError("body_too_large", {
          found: `the body has ${size} bytes`,
          wanted: `at most ${maxBodyBytes}`,
        }),
      );
    };
    const take = (chunk: Buffer) => {
      const start = size;
      size += chunk.length;
      // a body that has declared too large a size is not kept at all
      if (size > maxBodyBytes || whole.length === 0) return;
      if (size <= whole.length) {
        whole.set(chunk, start);
        return;
      }
      clearTimeout(timer);
      incoming.pause();
      isWaiting = true;
      const goOn = () => {
        isWaiting = false;
        whole = grown(whole.subarray(0, start), chunk, maxBodyBytes);
        if (incoming.readableEnded) finish();
        else flow();
      };
      roomFor(incoming, maxBodyBytes, limits).then(goOn).catch(fail);
    };
    const broken = () => fail(uploadFault(incoming)!);
    if (uploadFault(incoming)) return broken();
    if (incoming.destroyed) return fail(clientGone());
    incoming.once(uploadBroken, broken).on("data", take);
    incoming.once("end", finish);
    incoming.once("error", (cause) => fail(clientGone(cause)));
    incoming.once("close", () => {
      // an error takes its stack, which costs more than reading a small body
      if (!incoming.readableEnded) fail(clientGone());
    });
    flow();
  });
}

function allocate(size: number): Buffer {
  if (size < worthwhileBytes) return Buffer.allocUnsafeSlow(size);
  return Buffer.allocUnsafeSlow(Math.max(size, givenBackBytes)).subarray(0, size);
}

function grown(start: Buffer, next: Buffer, size: number): Buffer {
  const larger = allocate(size);
  larger.set(start);
  larger.set(next, start.length);
  return larger;
}

/** Waits for room, which is given back with the answer. The body is not read on meanwhile. */
async function roomFor(
  incoming: IncomingMessage,
  bytes: number,
  { budget, requestTimeoutMs }: BodyLimits,
): Promise<void> {
  if (budget === undefined) return;
  const place = budget.take(bytes);
  newestRequest(incoming.socket)?.outgoing.once("close", place.release);
  let timer: NodeJS.Timeout | undefined;
  let leave = () => {};
  const givenUp = new Promise<never>((_, reject) => {
    // a body that is whole closes too
    leave = () => {
      if (!incoming.readableEnded) reject(clientGone());
    };
    timer = setTimeout(
      () => reject(tooSlow("too many large ones are being sent")),
      roomWaits * requestTimeoutMs,
    );
    incoming.once("close", leave);
  });
  try {
    await Promise.race([place.room, givenUp]);
  } finally {
    clearTimeout(timer);
    incoming.off("close", leave);
  }
}

export function tooSlow(remedy = "send it faster"): JudgeError {
  return new JudgeError("request_timeout", { found: "the request was not complete in time", remedy });
}

export function clientGone(cause?: Error): JudgeError {
  return new JudgeError("client_gone", { found: "the client left while it sent the body", cause });
}
