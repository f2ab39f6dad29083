// Finds the key `__proto__`, which zod drops in silence and which sets a prototype when it is copied.

/** Whether `content` has an own key `__proto__` at any depth. */
export function hasPrototypeKey(content: unknown): boolean {
  if (typeof content !== "object" || content === null) return false;
  return Object.hasOwn(content, "__proto__") || Object.values(content).some(hasPrototypeKey);
}
