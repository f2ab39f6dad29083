// Why a vLLM server cannot be asked, in words that say what to do.
import { JudgeError } from "../../errors.js";

interface Cause {
  readonly found: string;
  readonly remedy: string;
}

const where = "start the server, or set base_url to where it listens";
const name = "set base_url to a name that this machine can resolve";
const network = "see the server's own log, and what lies between it and this machine";
const tls = "write http:// in base_url, or let the server speak TLS";
const certificate = "give the server a certificate that this machine trusts, or set NODE_EXTRA_CA_CERTS";

/** By the error's code, as Node and OpenSSL name it. */
const causes: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: { found: "connection refused", remedy: where },
  ENOTFOUND: { found: "no such host", remedy: name },
  EAI_AGAIN: { found: "the host's name cannot be resolved", remedy: name },
  EHOSTUNREACH: { found: "the host cannot be reached", remedy: where },
  ENETUNREACH: { found: "the network cannot be reached", remedy: where },
  ETIMEDOUT: { found: "no connection in time", remedy: where },
  ECONNRESET: { found: "the connection was cut off", remedy: network },
  EPIPE: { found: "the connection was cut off", remedy: network },
  EPROTO: { found: "the server speaks no TLS", remedy: tls },
  ERR_SSL_WRONG_VERSION_NUMBER: { found: "the server speaks no TLS", remedy: tls },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: { found: "the server speaks no TLS", remedy: tls },
  DEPTH_ZERO_SELF_SIGNED_CERT: { found: "its certificate is not trusted", remedy: certificate },
  SELF_SIGNED_CERT_IN_CHAIN: { found: "its certificate is not trusted", remedy: certificate },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { found: "its certificate is not trusted", remedy: certificate },
  ERR_TLS_CERT_ALTNAME_INVALID: { found: "its certificate is of another name", remedy: certificate },
  HPE_INVALID_CONSTANT: {
    found: "what answers speaks no HTTP",
    remedy: "write https:// in base_url where it speaks TLS, or set base_url to a vLLM server",
  },
};

/** Nothing is known any more of the server: it may be another one, or have other settings. */
export class ServerLost extends JudgeError {}

/** An exchange that the server did not end. */
export function connectionLost(cause: unknown): ServerLost {
  const { code } = cause as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : causes[code];
  const found = known?.found ?? "no connection";
  return new ServerLost("encoder_down", {
    found: `the vLLM server cannot be asked: ${found}${code === undefined ? "" : ` (${code})`}`,
    remedy: known?.remedy ?? "set base_url to what an HTTP client reaches from here",
    cause,
  });
}

/** A reply with another fingerprint than the server had when it was proved. */
export function serverChanged(): ServerLost {
  return new ServerLost("encoder_down", {
    found: "the vLLM server has other settings than when it was tested",
    remedy: "it is tested again",
  });
}

/** A server that takes longer than it may. */
export function replyLate(timeoutMs: number): JudgeError {
  return new JudgeError("encoder_down", {
    found: `the vLLM server gave no reply within ${Math.round(timeoutMs)} ms`,
    remedy: "see its own log, or raise request_timeout_ms",
  });
}

/** Whether it may be over without anybody's doing, such as a server that still loads. */
export function isPassing({ code }: JudgeError): boolean {
  return code === "encoder_down" || code === "overloaded";
}

/** Whether a server may have run a request that failed so; a refusal says that it did not. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof ServerLost) return (error.cause as NodeJS.ErrnoException).syscall !== "connect";
  return error instanceof JudgeError && error.code === "encoder_down";
}
