import * as http from "node:http";
import * as https from "node:https";
import { RandflakeError } from "./errors.js";
import { LostError, ServiceError, type LeaseRecord, type LeaseService } from "./service.js";

export interface ClientOptions {
  /** The space of IDs whose nodes are leased. */
  space: string;
  /** A bearer token, or what returns the present one. */
  token?: string | (() => string | Promise<string>);
  /** What a TLS connection needs beyond the defaults, in PEM: authorities, and this client's certificate and key. */
  tls?: Pick<https.RequestOptions, "ca" | "cert" | "key" | "passphrase" | "servername">;
}

const connectLimit = 2000; // milliseconds, for an address to take a connection
const callTimeout = 10_000; // milliseconds, for a call that says nothing else
const bodyLimit = 1 << 22; // bytes

type Json = Record<string, unknown>;

/** What randflaked does for clients. */
export interface Service extends LeaseService {
  /**
   * Has the service make up to 65,536 IDs, as text. When an answer is lost its IDs are, and nobody gets them. It takes
   * ten seconds at most, unless a signal says otherwise.
   */
  mint(count?: number, signal?: AbortSignal): Promise<string[]>;
  /** Takes up to 65,536 numbers of a counter, in order. Those of an answer that is lost are lost. */
  next(counter: string, count?: number, signal?: AbortSignal): Promise<bigint[]>;
}

/**
 * Returns randflaked, over HTTP. Of several addresses, such as "https://ids.example:8443", one is used for as long as it
 * works: a request that can't have been carried out, or may be repeated, goes on to the next address at once, and
 * otherwise the next request does.
 */
export function connect(addresses: string | readonly string[], options: ClientOptions): Service {
  const bases = [addresses].flat().map(base);
  if (bases.length === 0) throw new RandflakeError("INVALID_OPTION", "addresses: want at least one");
  const { space } = options;
  let at = 0;

  async function call(procedure: string, request: Json, signal: AbortSignal, repeatable = true): Promise<Json> {
    for (let left = bases.length; ; left--) {
      const used = at;
      try {
        return await post(bases[used]!, procedure, request, options, signal);
      } catch (error) {
        if (error instanceof ServiceError && error.definite) throw error;
        if (at === used) at = (used + 1) % bases.length;
        if (left <= 1 || !(repeatable || error instanceof Unsent)) throw error;
      }
    }
  }

  const lease = (name: string, { sent }: LeaseRecord, more: Json, signal: AbortSignal, repeatable = true) =>
    call(`LeaseService/${name}`, { space, held: sent, ...more }, signal, repeatable);

  return {
    async acquire({ nodes, ttl, owner, check }, signal) {
      return decode(await call("LeaseService/Acquire", { space, nodes, ttlSeconds: ttl, owner, check }, signal));
    },
    async renew(held, ttl, token, signal) {
      return decode(await lease("Renew", held, { ttlSeconds: ttl, token }, signal, false));
    },
    async lookup(held, signal) {
      return decode(await lease("Lookup", held, {}, signal));
    },
    async release(held, lastUsed, signal) {
      const { lost } = await lease("Release", held, { lastUsed: String(lastUsed) }, signal);
      if (lost) throw lostError(lost as Json);
    },
    async mint(count = 1, signal = AbortSignal.timeout(callTimeout)) {
      return list((await call("IDService/Mint", { space, count }, signal))["ids"], /^\w+$/);
    },
    async next(counter, count = 1, signal = AbortSignal.timeout(callTimeout)) {
      const { numbers } = await call("CounterService/Next", { counter, count }, signal);
      return list(numbers, /^-?\d+$/).map(BigInt);
    },
  };
}

function base(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    const want = "want http:// or https://, host, port and path, and no password";
    throw new RandflakeError("INVALID_OPTION", `address ${url ? url.origin + url.pathname : "is no URL"}: ${want}`);
  }
  return url;
}

/** A request was not even sent. */
class Unsent extends ServiceError {}

async function post(
  base: URL, procedure: string, body: Json, options: ClientOptions, signal: AbortSignal,
): Promise<Json> {
  const token = typeof options.token === "function" ? await options.token() : options.token;
  const url = new URL(`${base.pathname.replace(/\/$/, "")}/randflake.v1.${procedure}`, base);
  const headers: http.OutgoingHttpHeaders = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
  if (token) headers["Authorization"] = `Bearer ${token}`;
  const { status, text } = await exchange(url, { ...options.tls, method: "POST", headers, signal, agent: false }, body);
  const answer = json(text);
  if (status === 200 && answer) return answer;
  const code = typeof answer?.["code"] === "string" ? answer["code"] : (codes[status] ?? "unknown");
  const message = typeof answer?.["message"] === "string" ? answer["message"].slice(0, 500) : `HTTP status ${status}`;
  throw new ServiceError(code, `${procedure} at ${base.host}: ${message}`);
}

/** What Connect's specification takes a status for when there is no error in the body. */
const codes: Record<number, string> = {
  400: "internal", 401: "unauthenticated", 403: "permission_denied", 404: "unimplemented", 429: "unavailable",
  502: "unavailable", 503: "unavailable", 504: "unavailable",
};

function exchange(url: URL, options: https.RequestOptions, body: Json): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === "https:";
    const request = (secure ? https : http).request(url, options);
    const slow = setTimeout(() => request.destroy(new Error("no connection")), connectLimit);
    let sent = false;
    const connected = () => {
      sent = true;
      clearTimeout(slow);
    };
    const fail = (error: Error) => {
      clearTimeout(slow);
      const Failure = sent ? ServiceError : Unsent;
      const why = error.message || (error as NodeJS.ErrnoException).code;
      reject(new Failure("unavailable", `${url.host}: ${why}`, { cause: error }));
    };
    request.once("socket", (socket) => socket.once(secure ? "secureConnect" : "connect", connected));
    request.once("error", fail);
    request.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length > bodyLimit) response.destroy(new Error(`answer of more than ${bodyLimit} bytes`));
      });
      response.once("error", fail);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.end(JSON.stringify(body));
  });
}

function json(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the lease in an answer, or throws what it says instead. 64-bit integers are strings, and zeros left out. */
function decode({ lease, lost }: Json): LeaseRecord {
  if (lost) throw lostError(lost as Json);
  if (typeof lease !== "object" || lease === null) throw malformed("no lease", lease);
  const sent = lease as Json;
  return {
    firstNode: integer(sent["firstNode"]), lastNode: integer(sent["lastNode"]), owner: token(sent["owner"]),
    change: token(sent["change"]), start: integer(sent["start"]), highWater: integer(sent["highWater"]), sent,
  };
}

/** Returns a list of texts of a form, which is not empty. */
function list(value: unknown, form: RegExp): string[] {
  const good = (v: unknown) => typeof v === "string" && form.test(v);
  if (Array.isArray(value) && value.length > 0 && value.every(good)) return value;
  throw malformed("no list", value);
}

function lostError({ others, why }: Json): LostError {
  return new LostError(integer(others), String(why ?? "the service does not say why").slice(0, 500));
}

/** What is absent is zero. */
function integer(value: unknown = 0): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) throw malformed("no integer", value);
  return number;
}

function token(value: unknown = ""): string {
  if (typeof value !== "string" || !/^([0-9a-f]{32})?$/.test(value)) throw malformed("no token", value);
  return value;
}

function malformed(what: string, value: unknown): ServiceError {
  return new ServiceError("internal", `malformed answer: ${what}: ${String(value).slice(0, 40)}`);
}
