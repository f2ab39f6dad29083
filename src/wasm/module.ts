// The few WebAssembly instructions that the kernels of head/ and train/ are made of, and the module around their functions.
// Numbers are those of the core specification, chapter "Binary Format". SIMD: in Node.js from 16.4 on.

export type Code = readonly number[];

/** The types of a function's further locals. */
export interface Locals {
  readonly i32: number;
  readonly v128: number;
}

export interface WasmFunction {
  readonly name: string;
  readonly i32Parameters: number;
  readonly f32Parameters: number;
  readonly locals: Locals;
  readonly body: Code;
}

// neither TypeScript's es2023 nor @types/node 20 declares it
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Exports };
};

/** Functions by name; addresses are in bytes. */
export type Exports = Readonly<Record<string, (...values: number[]) => void>>;

const pageBytes = 65_536;

const twoByte = (operation: number): Code => [0xfd, operation, 0x01];
// alignment 2^0 is only a hint and always allowed
const access = (operation: number, offset: number): Code => [0xfd, operation, 0, ...unsigned(offset)];

export const get = (local: number): Code => [0x20, local];
export const set = (local: number): Code => [0x21, local];
export const int = (value: number): Code => [0x41, ...signed(value)];
export const add: Code = [0x6a];
export const load = (offset = 0): Code => access(0x00, offset);
/** one float into all four lanes */
export const loadSplat = (offset = 0): Code => access(0x09, offset);
export const store = (offset = 0): Code => access(0x0b, offset);
export const zero: Code = [0xfd, 0x0c, ...new Array<number>(16).fill(0)];
export const splat: Code = [0xfd, 0x13];
export const rootLanes = twoByte(0xe3);
export const addLanes = twoByte(0xe4);
export const subtractLanes = twoByte(0xe5);
export const multiplyLanes = twoByte(0xe6);
export const divideLanes = twoByte(0xe7);
export const maximum = twoByte(0xe9);
/** all ones in the lanes where it is so */
export const greater: Code = [0xfd, 0x44];
export const atLeast: Code = [0xfd, 0x46];
export const and: Code = [0xfd, 0x4e];
/** two floats, as doubles in both lanes */
export const loadDoubles = (offset = 0): Code => [...access(0x5d, offset), 0xfd, 0x5f];
export const addDoubles = twoByte(0xf0);
export const multiplyDoubles = twoByte(0xf2);

/** local += what `amount` leaves on the stack */
export const increase = (local: number, amount: Code): Code => [
  ...get(local),
  ...amount,
  ...add,
  ...set(local),
];

/** Runs `body` once and again while local < limit (another local), unsigned. */
export const loopWhileBelow = (local: number, limit: number, body: Code): Code => {
  return [0x03, 0x40, ...body, ...get(local), ...get(limit), 0x49, 0x0d, 0, 0x0b];
};

/** @param bytes of zeroed memory, at least */
export function instantiate(
  functions: readonly WasmFunction[],
  bytes: number,
): { memory: ArrayBuffer; exports: Exports } {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / pageBytes) + 1 });
  const module = new WebAssembly.Module(wasmModule(functions));
  const { exports } = new WebAssembly.Instance(module, { kernel: { memory } });
  return { memory: memory.buffer, exports };
}

/** A module that imports `kernel.memory` and exports the functions. */
function wasmModule(functions: readonly WasmFunction[]): Uint8Array<ArrayBuffer> {
  const [i32, f32, v128] = [0x7f, 0x7d, 0x7b] as const;
  const types = functions.map(({ i32Parameters, f32Parameters }) => {
    const parameters = [...repeat(i32, i32Parameters), ...repeat(f32, f32Parameters)];
    return [0x60, ...vector(parameters.map((type) => [type])), 0];
  });
  const bodies = functions.map(({ locals, body }) => {
    const groups = vector([
      [...unsigned(locals.i32), i32],
      [...unsigned(locals.v128), v128],
    ]);
    const code = [...groups, ...body, 0x0b];
    return [...unsigned(code.length), ...code];
  });
  const memory = [...text("kernel"), ...text("memory"), 0x02, 0x00, 1];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types)),
    ...section(2, vector([memory])),
    ...section(3, vector(functions.map((_, index) => [index]))),
    ...section(7, vector(functions.map(({ name }, index) => [...text(name), 0x00, index]))),
    ...section(10, vector(bodies)),
  ]);
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content];
}

function vector(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()];
}

function text(value: string): Code {
  return vector([...new TextEncoder().encode(value)].map((byte) => [byte]));
}

function repeat(value: number, times: number): Code {
  return new Array<number>(times).fill(value);
}

/** LEB128 */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
