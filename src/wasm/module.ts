// A WebAssembly module with its memory. Its SIMD instructions are in Node.js from 16.4 on.

// neither TypeScript's es2023 nor @types/node 20 declares it
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Exports };
};

/** Functions by name; addresses are in bytes. */
export type Exports = Readonly<Record<string, (...values: number[]) => void>>;

const pageBytes = 65_536;

/**
 * @param base64 a module of bytes.ts
 * @param bytes of zeroed memory, at least
 */
export function instantiate(base64: string, bytes: number): { memory: ArrayBuffer; exports: Exports } {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / pageBytes) + 1 });
  const module = new WebAssembly.Module(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  const { exports } = new WebAssembly.Instance(module, { kernel: { memory } });
  return { memory: memory.buffer, exports };
}
