// Bounds the bytes of large bodies that are in memory together. A body that finds no room is not read on
// until others have their answer, in the order of arrival. Small bodies never wait behind large ones.
import { JudgeError } from "../../errors.js";

export interface BodyBudget {
  /**
   * Asks for room for a body; the place is kept until it is given back.
   * @throws JudgeError `overloaded` where bodies are refused rather than kept waiting
   */
  take(bytes: number): BodyPlace;
}

interface BodyPlace {
  /** Resolves once there is room. */
  readonly room: Promise<void>;
  /** Gives the room back, or the wish for it. */
  release(): void;
}

interface BodyBudgetOptions {
  readonly maxBytes: number;
  /** whether a body that finds no room is refused; a router hands the refusal to its user */
  readonly refuses: boolean;
  /** told of every body that finds no room at once */
  onWait(): void;
  /** told when no large body is left, and much memory may be given back */
  readonly onQuiet?: (() => void) | undefined;
}

/** V8 holds so much by itself while requests go on. */
const quietBytes = 64 * 2 ** 20;

interface Place {
  readonly bytes: number;
  enter(): void;
}

export function createBodyBudget(options: BodyBudgetOptions): BodyBudget {
  const { maxBytes, refuses } = options;
  let takenBytes = 0;
  /** bytes of the bodies that have come and gone since it was quiet */
  let passedBytes = 0;
  const inside = new Set<Place>();
  const waiting = new Set<Place>();

  const hasRoom = (bytes: number) => inside.size === 0 || takenBytes + bytes <= maxBytes;
  const admit = (place: Place) => {
    waiting.delete(place);
    inside.add(place);
    takenBytes += place.bytes;
    place.enter();
  };
  return {
    take(bytes) {
      const isFree = waiting.size === 0 && hasRoom(bytes);
      if (!isFree) {
        options.onWait();
        if (refuses)
          throw new JudgeError("overloaded", {
            found: "too many large bodies at once",
            remedy: "send this one again later",
          });
      }
      let enter = () => {};
      const room = new Promise<void>((resolve) => {
        enter = resolve;
      });
      const place = { bytes, enter };
      if (isFree) admit(place);
      else waiting.add(place);
      return {
        room,
        release() {
          waiting.delete(place);
          if (inside.delete(place)) {
            takenBytes -= bytes;
            passedBytes += bytes;
          }
          for (const next of waiting) {
            if (!hasRoom(next.bytes)) break;
            admit(next);
          }
          if (inside.size > 0 || passedBytes < quietBytes) return;
          passedBytes = 0;
          options.onQuiet?.();
        },
      };
    },
  };
}
