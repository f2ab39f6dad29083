// Tells whether parsed content has a key that a schema would pass unseen.

/** Whether `content`, at any depth, has an own key `__proto__`: zod drops it, and copying it would set a prototype. */
export function hasPrototypeKey(content: unknown): boolean {
  if (typeof content !== "object" || content === null) return false;
  return Object.hasOwn(content, "__proto__") || Object.values(content).some(hasPrototypeKey);
}
